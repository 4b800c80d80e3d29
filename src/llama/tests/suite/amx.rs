//! The machine code that sets up the AMX tiles. gcc before 14 believes that `ldtilecfg` reads 8 bytes and drops the stores
//! of the other 56: a crash on processors with AMX, which the machine that builds need not have.

use std::path::Path;
use std::process::Command;

use crate::support::skip;

const MODULE: &str = "libggml-cpu-sapphirerapids.so";
/// Instructions before the load among which the stores must be.
const REACH: usize = 400;

/// The operand of a memory access relative to a base register: `0x40(%rsp)` is (`%rsp`, 64).
fn address(operand: &str) -> Option<(&str, i64)> {
  let (offset, base) = operand.strip_suffix(')')?.split_once('(')?;
  let (sign, digits) = offset.strip_prefix('-').map_or((1, offset), |digits| (-1, digits));
  let digits = digits.strip_prefix("0x").unwrap_or(digits);
  let value = if digits.is_empty() { 0 } else { i64::from_str_radix(digits, 16).ok()? };
  (!base.contains(',')).then_some((base, sign * value))
}

/// Bytes that a store writes, by its mnemonic and its source register.
fn width(mnemonic: &str, source: &str) -> i64 {
  match mnemonic {
    "movb" => 1,
    "movw" => 2,
    "movl" | "vmovd" => 4,
    "movq" | "vmovq" | "vmovlps" => 8,
    _ if source.starts_with("%zmm") => 64,
    _ if source.starts_with("%ymm") => 32,
    _ if source.starts_with("%xmm") => 16,
    "mov" if source.starts_with("%r") => 8,
    "mov" if source.starts_with("%e") => 4,
    _ => 0,
  }
}

/// Which of the 64 bytes at `target` the instructions before the load store. A call before it is the border: what it
/// stored is not visible, and the configuration is written after it.
fn stored(before: &[&str], target: (&str, i64)) -> [bool; 64] {
  let mut bytes = [false; 64];
  for line in before.iter().rev() {
    let text = line.split('\t').next_back().unwrap_or_default().trim();
    let Some((mnemonic, operands)) = text.split_once(char::is_whitespace) else { continue };
    let Some((source, destination)) = operands.trim().rsplit_once(',') else { continue };
    let Some((base, offset)) = address(destination) else { continue };
    if base != target.0 {
      continue;
    }
    for byte in offset - target.1..offset - target.1 + width(mnemonic, source) {
      if let Some(slot) = usize::try_from(byte).ok().and_then(|byte| bytes.get_mut(byte)) {
        *slot = true;
      }
    }
  }
  bytes
}

#[test]
fn every_tile_configuration_is_written_before_it_is_loaded() {
  let module = Path::new(env!("LOCAL_INFERENCE_BUILD_BACKENDS")).join(MODULE);
  if !module.exists() {
    skip(&format!("this build has no {MODULE}"));
    return;
  }
  let Ok(output) = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(&module).output() else {
    skip("objdump is not installed");
    return;
  };
  assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
  let text = String::from_utf8_lossy(&output.stdout);
  let lines: Vec<&str> = text.lines().collect();
  let mut loads = 0;
  for (index, line) in lines.iter().enumerate() {
    let Some((_, operand)) = line.split_once("ldtilecfg") else { continue };
    loads += 1;
    let target =
      address(operand.trim()).unwrap_or_else(|| panic!("an address relative to a register: {line}"));
    let bytes = stored(&lines[index.saturating_sub(REACH)..index], target);
    // Palette and start row; the row lengths in bytes of tiles 0 to 7; their numbers of rows.
    for (what, range) in [("palette", 0..2), ("row lengths", 16..32), ("rows", 48..56)] {
      let missing: Vec<usize> = range.filter(|byte| !bytes[*byte]).collect();
      assert!(missing.is_empty(), "{what}: bytes {missing:?} are not stored before {line}");
    }
  }
  assert!(loads > 0, "{MODULE} has AMX code");
}
