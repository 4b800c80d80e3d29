//! Bytes and values that no encoder or model would make.

use super::checks::{About, Checks};
use crate::attention::{Heads, KeyValues};
use crate::error::KernelError;
use crate::format::Format;
use crate::random::Xorshift32;
use crate::rows::{Query, Rows, encode};
use crate::simd::InstructionSet;

/// 512 heads of 128 values.
const FINITE_HEADS: usize = 512;
const LENGTH: usize = 128;
const TOKENS: usize = 64;

pub(super) fn check(checks: &mut Checks<'_>, isa: InstructionSet) -> Result<(), KernelError> {
  for format in Format::ALL {
    checks.go_on()?;
    check_scales(checks, format, isa)?;
    check_values(checks, format, isa)?;
  }
  for values in [Format::Tbq3_0, Format::Q4Polar] {
    check_finite(checks, values, isa)?;
  }
  Ok(())
}

/// Where the two bytes of a block's scale are.
fn scale_at(format: Format) -> usize {
  match format {
    Format::Tbq3K | Format::Tbq4K | Format::Qjl1_256 => format.block_bytes() - 2,
    _ => 0,
  }
}

/// Every one of the 65,536 possible scales, beside the largest codes and the smallest: it is refused, or what comes out is finite.
fn check_scales(checks: &mut Checks<'_>, format: Format, isa: InstructionSet) -> Result<(), KernelError> {
  let elements = format.block_elements();
  let query = Query::new(format, isa, &vec![1.0; elements])?;
  let at = scale_at(format);
  let exponent = if format == Format::Qjl1_256 { 0x7F80 } else { 0x7C00 };
  let mut decoded = vec![0.0; elements];
  let mut right = Vec::with_capacity(1 << 16);
  for scale in 0..=u16::MAX {
    let codes = if scale % 2 == 0 { 0xFF } else { 0x00 };
    let mut block = vec![codes; format.block_bytes()];
    block[at..at + 2].copy_from_slice(&scale.to_le_bytes());
    let is_number = scale & exponent != exponent;
    right.push(match Rows::new(format, elements, &block) {
      Err(error) => !is_number && error == KernelError::Damaged { block: 0 },
      Ok(rows) => {
        rows.decode(isa, 0, &mut decoded)?;
        // The sum of 128 values of up to 3e38 may exceed f32; a score may then be infinite, but never NaN.
        let score = rows.score(isa, 0, &query);
        is_number && !score.is_nan() && decoded.iter().all(|value| value.is_finite())
      }
    });
  }
  let about = About { gate: "every-scale", format: format.name(), isa: Some(isa), on: "65,536 blocks" };
  checks.all(about, right.into_iter());
  Ok(())
}

/// Values that a block must hold, and values that it must refuse.
fn check_values(checks: &mut Checks<'_>, format: Format, isa: InstructionSet) -> Result<(), KernelError> {
  let elements = format.block_elements();
  let code = |values: Vec<f32>| encode(format, &values).map_err(|error| error.code());
  let mut right = Vec::new();
  for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
    let mut values = vec![0.5; elements];
    values[elements / 2] = bad;
    right.push(code(values) == Err("NOT_FINITE"));
  }
  right.push(code(vec![f32::MAX; elements]) == Err("TOO_LARGE"));
  right.push(code(vec![0.0; elements - 1]) == Err("LENGTH"));
  right.push(code(Vec::new()) == Err("LENGTH"));
  for good in [0.0, -0.0, f32::MIN_POSITIVE, 1e-45, 1e-8, 1.0, -1e3] {
    let bytes = encode(format, &vec![good; elements])?;
    let mut decoded = vec![f32::NAN; elements];
    Rows::new(format, elements, &bytes)?.decode(isa, 0, &mut decoded)?;
    let is_zero = good.abs() < 1e-40 && format != Format::Qjl1_256;
    right.push(decoded.iter().all(|value| value.is_finite() && (!is_zero || *value == 0.0)));
  }
  let about = About {
    gate: "hostile-values",
    format: format.name(),
    isa: Some(isa),
    on: "zeros, denormals, NaN, infinities",
  };
  checks.all(about, right.into_iter());
  Ok(())
}

/// Random bytes with sound scales through fused attention.
fn check_finite(checks: &mut Checks<'_>, values: Format, isa: InstructionSet) -> Result<(), KernelError> {
  let mut random = Xorshift32::new(65_536);
  let keys = random_rows(Format::Qjl1_256, &mut random);
  let value_bytes = random_rows(values, &mut random);
  let key_values =
    KeyValues::new(Rows::new(Format::Qjl1_256, LENGTH, &keys)?, Rows::new(values, LENGTH, &value_bytes)?, 1)?;
  let queries = random.near_gaussians(FINITE_HEADS * LENGTH);
  let out = key_values.fused(isa, &Heads { queries: &queries, visible: TOKENS, scale: 0.1 }, 1)?;
  let names = format!("QJL1_256/{}", values.name());
  let about = About { gate: "finite", format: &names, isa: Some(isa), on: "random bytes" };
  checks.all(about, out.iter().map(|value| value.is_finite()));
  Ok(())
}

/// Random codes; scales from 2 to 8 or nearly 0, as f16 and as bf16.
fn random_rows(format: Format, random: &mut Xorshift32) -> Vec<u8> {
  let blocks = TOKENS * LENGTH / format.block_elements();
  let mut bytes = Vec::with_capacity(blocks * format.block_bytes());
  for _ in 0..blocks {
    let mut block: Vec<u8> = (0..format.block_bytes()).map(|_| random.next().to_le_bytes()[3]).collect();
    block[scale_at(format) + 1] &= 0x40;
    bytes.extend(block);
  }
  bytes
}
