//! `QJL1_256`: on which side of 256 random directions a vector of 128 lies, and its norm (Zandieh, Daliri, Han, arXiv 2406.03482).
//!
//! A block is `32 bytes of signs, bf16 norm`; a set bit means that the projection is not negative. The estimate of a dot
//! product, `norm * sqrt(pi/2) / 256 * sum of sign * projection of the query`, is unbiased and very noisy.

use half::bf16;

use crate::error::TooLarge;
use crate::formats::{norm, to_odd};
use crate::rotation::PROJECTION;
use crate::simd::InstructionSet;

pub(crate) const BYTES: usize = 34;
pub(crate) const SIGNS: usize = 256;
const ELEMENTS: usize = 128;
const SIGN_BYTES: usize = SIGNS / 8;

/// sqrt(pi/2) / 256
const ESTIMATE: f32 = 1.253_314_1 / 256.0;

pub(crate) fn encode(values: &[f64], block: &mut [u8]) -> Result<(), TooLarge> {
  let length = bf16::from_f32(to_odd(norm(values)));
  if !length.is_finite() {
    return Err(TooLarge);
  }
  let mut projected = [0.0; SIGNS];
  PROJECTION.apply_transposed(values, &mut projected);
  block[..SIGN_BYTES].fill(0);
  for (i, _) in projected.iter().enumerate().filter(|(_, value)| **value >= 0.0) {
    block[i / 8] |= 1 << (i % 8);
  }
  block[SIGN_BYTES..].copy_from_slice(&length.to_le_bytes());
  Ok(())
}

fn scale(block: &[u8]) -> f32 {
  bf16::from_le_bytes([block[SIGN_BYTES], block[SIGN_BYTES + 1]]).to_f32() * ESTIMATE
}

pub(crate) fn score(isa: InstructionSet, block: &[u8], basis: &[f32]) -> f32 {
  scale(block) * isa.sign_dot(&block[..SIGN_BYTES], basis)
}

pub(crate) fn add(isa: InstructionSet, sum: &mut [f32], block: &[u8], weight: f32) {
  isa.add_signs(sum, &block[..SIGN_BYTES], weight * scale(block));
}

fn map(from: &[f32], to: &mut [f32], apply: impl Fn(&[f64], &mut [f64])) {
  let from: Vec<f64> = from.iter().map(|value| f64::from(*value)).collect();
  let mut mapped = vec![0.0; to.len()];
  apply(&from, &mut mapped);
  for (to, value) in to.iter_mut().zip(mapped) {
    #[allow(clippy::cast_possible_truncation)] // f32 is what the kernels compute in
    let value = value as f32;
    *to = value;
  }
}

pub(crate) fn to_basis(query: &[f32], basis: &mut [f32]) {
  debug_assert_eq!(query.len(), ELEMENTS);
  map(query, basis, |from, to| PROJECTION.apply_transposed(from, to));
}

pub(crate) fn from_basis(sum: &[f32], values: &mut [f32]) {
  map(sum, values, |from, to| PROJECTION.apply(from, to));
}
