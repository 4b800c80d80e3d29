//! Dot products of encoded keys with queries, decoding and encoding, against the second implementation.

use super::checks::{About, Checks};
use super::reference::{MultiBlockCase, PreRotatedCase, Reference, ScoreCase, bytes_of};
use crate::error::KernelError;
use crate::format::Format;
use crate::random::Xorshift32;
use crate::rows::{Query, Rows, encode};
use crate::simd::InstructionSet;

/// What the kernels' makers allow.
const SCORE_TOLERANCE: f64 = 1e-3;
/// Values of a few units, computed in f32.
const DECODE_TOLERANCE: f64 = 1e-5;

/// # Panics
/// If the reference names a format that there is not.
pub(super) fn format(name: &str) -> Format {
  Format::named(name).expect("a format of this version")
}

fn widened(actual: Vec<f32>, expected: &[f64]) -> impl Iterator<Item = (f64, f64)> {
  actual.into_iter().map(f64::from).zip(expected.iter().copied())
}

pub(super) fn check(
  checks: &mut Checks<'_>,
  reference: &Reference,
  isa: InstructionSet,
) -> Result<(), KernelError> {
  for case in &reference.scores {
    check_scores(checks, case, isa)?;
  }
  checks.go_on()?;
  for case in &reference.multi_block {
    check_multi_block(checks, case, isa)?;
  }
  check_pre_rotated(checks, &reference.pre_rotated, isa)
}

fn check_scores(checks: &mut Checks<'_>, case: &ScoreCase, isa: InstructionSet) -> Result<(), KernelError> {
  let bytes = bytes_of(&case.blocks.concat());
  let rows = Rows::new(format(&case.format), case.elements, &bytes)?;
  let mut random = Xorshift32::new(case.seed);
  random.near_gaussians(case.rows * case.elements);
  let query = Query::new(rows.format(), isa, &random.near_gaussians(case.elements))?;
  let scores = (0..case.rows).map(|row| rows.score(isa, row, &query)).collect();
  let on = format!("rows of {}", case.elements);
  let about = About { gate: "scores", format: &case.format, isa: Some(isa), on: &on };
  checks.close(about, widened(scores, &case.scores), SCORE_TOLERANCE);
  Ok(())
}

fn check_multi_block(
  checks: &mut Checks<'_>,
  case: &MultiBlockCase,
  isa: InstructionSet,
) -> Result<(), KernelError> {
  let format = format(&case.format);
  let elements = case.blocks * format.block_elements();
  let bytes = bytes_of(&case.bytes);
  let rows = Rows::new(format, elements, &bytes)?;
  let mut random = Xorshift32::new(case.seed);
  random.near_gaussians(elements);
  let mut scores = Vec::new();
  for _ in 0..case.queries {
    scores.push(rows.score(isa, 0, &Query::new(format, isa, &random.near_gaussians(elements))?));
  }
  let on = format!("{} blocks", case.blocks);
  let about = About { gate: "multi-block", format: &case.format, isa: Some(isa), on: &on };
  checks.close(about, widened(scores, &case.scores), SCORE_TOLERANCE);
  let mut decoded = vec![0.0; elements];
  rows.decode(isa, 0, &mut decoded)?;
  decoded.truncate(format.block_elements());
  let about = About { gate: "decode", on: "first blocks", ..about };
  checks.close(about, widened(decoded, &case.decoded), DECODE_TOLERANCE);
  Ok(())
}

fn check_pre_rotated(
  checks: &mut Checks<'_>,
  case: &PreRotatedCase,
  isa: InstructionSet,
) -> Result<(), KernelError> {
  let bytes = bytes_of(&case.blocks.concat());
  let rows = Rows::new(format(&case.format), 128, &bytes)?;
  let query = Query::pre_rotated(rows.format(), 128, case.query.clone())?;
  let scores = (0..rows.count()).map(|row| rows.score(isa, row, &query)).collect();
  let about = About { gate: "pre-rotated", format: &case.format, isa: Some(isa), on: "rows of 128" };
  checks.close(about, widened(scores, &case.scores), SCORE_TOLERANCE);
  Ok(())
}

/// The encoder has one form: its bytes are the reference's.
pub(super) fn check_encoder(checks: &mut Checks<'_>, reference: &Reference) -> Result<(), KernelError> {
  let mut compare = |name: &str, values: &[f32], expected: &str| -> Result<(), KernelError> {
    let format = format(name);
    let (actual, expected) = (encode(format, values)?, bytes_of(expected));
    let blocks = actual.chunks(format.block_bytes()).zip(expected.chunks(format.block_bytes()));
    let about = About { gate: "encode", format: name, isa: None, on: "blocks, byte for byte" };
    checks.all(about, blocks.map(|(actual, expected)| actual == expected));
    Ok(())
  };
  for case in &reference.scores {
    let keys = Xorshift32::new(case.seed).near_gaussians(case.rows * case.elements);
    compare(&case.format, &keys, &case.blocks.concat())?;
  }
  for case in &reference.multi_block {
    let elements = case.blocks * format(&case.format).block_elements();
    compare(&case.format, &Xorshift32::new(case.seed).near_gaussians(elements), &case.bytes)?;
  }
  Ok(())
}
