//! Fused attention against the second implementation, against its own steps in f64, and against itself.

use super::checks::{About, Checks};
use super::reference::{AttentionCase, hash};
use super::scores::format;
use crate::attention::{Heads, KeyValues};
use crate::error::KernelError;
use crate::format::Format;
use crate::random::Xorshift32;
use crate::rows::{Rows, encode};
use crate::simd::InstructionSet;

/// What the kernels' makers allow.
const TOLERANCE: f64 = 1e-3;
/// The same keys, values and formula: only the order of sums and f32 remain.
const UNFUSED_TOLERANCE: f64 = 1e-4;
const THREADS: [usize; 4] = [2, 3, 4, 8];

/// The bytes and queries of a case.
struct Inputs {
  keys: Vec<u8>,
  values: Vec<u8>,
  queries: Vec<f32>,
}

impl Inputs {
  fn new(case: &AttentionCase) -> Result<Self, KernelError> {
    let mut random = Xorshift32::new(case.seed);
    let elements = case.kv_heads * case.tokens * case.head_length;
    Ok(Self {
      keys: encode(Format::Qjl1_256, &random.near_gaussians(elements))?,
      values: encode(format(&case.values), &random.near_gaussians(elements))?,
      queries: random.near_gaussians(case.kv_heads * case.group * case.head_length),
    })
  }

  fn key_values(&self, case: &AttentionCase) -> Result<KeyValues<'_>, KernelError> {
    let keys = Rows::new(Format::Qjl1_256, case.head_length, &self.keys)?;
    let values = Rows::new(format(&case.values), case.head_length, &self.values)?;
    KeyValues::new(keys, values, case.kv_heads)
  }
}

fn same_bits(a: &[f32], b: &[f32]) -> impl Iterator<Item = bool> {
  a.iter().zip(b).map(|(a, b)| a.to_bits() == b.to_bits())
}

pub(super) fn check(
  checks: &mut Checks<'_>,
  cases: &[AttentionCase],
  isa: InstructionSet,
) -> Result<(), KernelError> {
  for case in cases {
    checks.go_on()?;
    check_case(checks, case, isa)?;
  }
  Ok(())
}

/// The gate's name as this program knows it.
///
/// # Panics
/// If the reference has a gate that there is not.
fn gate(name: &str) -> &'static str {
  let known = ["fused", "fused-combinations", "fused-causal"];
  known.into_iter().find(|gate| *gate == name).expect("a gate of this version")
}

fn check_case(checks: &mut Checks<'_>, case: &AttentionCase, isa: InstructionSet) -> Result<(), KernelError> {
  let inputs = Inputs::new(case)?;
  let key_values = inputs.key_values(case)?;
  #[allow(clippy::cast_precision_loss)] // at most 512
  let scale = 1.0 / (case.head_length as f32).sqrt();
  let heads = Heads { queries: &inputs.queries, visible: case.visible, scale };
  let fused = key_values.fused(isa, &heads, 1)?;

  let names = format!("QJL1_256/{}", case.values);
  let on = format!("heads of {}", case.head_length);
  let about = About { gate: gate(&case.gate), format: &names, isa: Some(isa), on: &on };
  checks.close(about, fused.iter().copied().map(f64::from).zip(case.outputs.iter().copied()), TOLERANCE);

  let unfused = key_values.unfused(&heads)?;
  let about = About { gate: "fused-as-unfused", ..about };
  checks.close(about, fused.iter().copied().map(f64::from).zip(unfused), UNFUSED_TOLERANCE);

  for threads in THREADS {
    let about = About { gate: "same-bits-for-threads", ..about };
    checks.all(about, same_bits(&fused, &key_values.fused(isa, &heads, threads)?));
  }
  if isa == InstructionSet::PORTABLE {
    let about = About { gate: "same-bytes", isa: None, ..about };
    let pairs = [(hash(&inputs.keys), case.keys_hash), (hash(&inputs.values), case.values_hash)];
    checks.all(about, pairs.into_iter().map(|(actual, expected)| actual == expected));
  } else {
    let about = About { gate: "same-bits-as-portable", ..about };
    checks.all(about, same_bits(&fused, &key_values.fused(InstructionSet::PORTABLE, &heads, 1)?));
  }
  if case.visible < case.tokens {
    let about = About { gate: "later-tokens-unread", ..about };
    checks.all(about, same_bits(&fused, &with_other_later_tokens(case, inputs, isa, scale)?));
  }
  Ok(())
}

/// The same attention when everything after the prefix is something else.
fn with_other_later_tokens(
  case: &AttentionCase,
  mut inputs: Inputs,
  isa: InstructionSet,
  scale: f32,
) -> Result<Vec<f32>, KernelError> {
  for bytes in [&mut inputs.keys, &mut inputs.values] {
    let row = bytes.len() / (case.kv_heads * case.tokens);
    for head in bytes.chunks_exact_mut(case.tokens * row) {
      let (seen, later) = head.split_at_mut(case.visible * row);
      for block in later.chunks_exact_mut(row) {
        block.copy_from_slice(&seen[..row]);
      }
    }
  }
  let heads = Heads { queries: &inputs.queries, visible: case.visible, scale };
  inputs.key_values(case)?.fused(isa, &heads, 1)
}
