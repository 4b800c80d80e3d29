//! `TBQ3_TCQ`: signs, Hadamard-128, signs, and trellis-coded quantisation (Marcellin, Fischer 1990) of three bits a value.
//!
//! A block is `f16 scale, 49 bytes of codes, a zero byte`. The codes are one stream of bits, the first the lowest: six
//! bits of prefix, then three for each value. Value t is the codebook's entry at bits 3t to 3t + 8.

use crate::error::TooLarge;
use crate::formats::{divide, half, norm, read_half, write_half};
use crate::rotation::{TCQ_SIGNS, hadamard};
use crate::simd::InstructionSet;
use crate::trellis::{CODEBOOK, CODEBOOK_F64, best_path};

pub(crate) const BYTES: usize = 52;
const ELEMENTS: usize = 128;
const CODE_BYTES: usize = 49;

/// Makes the transform orthonormal: 1/sqrt(128).
const UNIT: f64 = std::f64::consts::FRAC_1_SQRT_2 / 8.0;
#[allow(clippy::cast_possible_truncation)] // f32 is what the kernels compute in
const UNIT_F32: f32 = UNIT as f32;

/// The stored scale makes the decoded block exactly as long as the block that was encoded.
pub(crate) fn encode(values: &[f64], block: &mut [u8]) -> Result<(), TooLarge> {
  let [before, after] = &*TCQ_SIGNS;
  let mut rotated: Vec<f64> = values.iter().zip(before).map(|(x, sign)| x * f64::from(*sign)).collect();
  hadamard(&mut rotated);
  for (value, sign) in rotated.iter_mut().zip(after) {
    *value *= f64::from(*sign);
  }
  let length = norm(values);
  // The transform made it sqrt(128) times as long: this gives variance 1.
  divide(&mut rotated, length);
  let states = best_path(&rotated);
  let coded: f64 = states.iter().map(|state| CODEBOOK_F64[usize::from(*state)].powi(2)).sum();
  write_half(&mut block[..2], half(length / (coded.sqrt() * UNIT))?);
  block[2..].fill(0);
  write_states(&states, &mut block[2..2 + CODE_BYTES]);
  Ok(())
}

fn write_states(states: &[u16], bytes: &mut [u8]) {
  for (t, state) in states.iter().enumerate() {
    // Later states overlap earlier ones in six bits, which agree.
    let shifted = u32::from(*state) << (3 * t % 8);
    bytes[3 * t / 8] |= shifted.to_le_bytes()[0];
    bytes[3 * t / 8 + 1] |= shifted.to_le_bytes()[1];
  }
}

fn states(block: &[u8]) -> [u16; ELEMENTS] {
  let bytes = &block[2..];
  std::array::from_fn(|t| {
    let window = u16::from_le_bytes([bytes[3 * t / 8], bytes[3 * t / 8 + 1]]);
    window >> (3 * t % 8) & 511
  })
}

pub(crate) fn score(isa: InstructionSet, block: &[u8], basis: &[f32]) -> f32 {
  read_half(block) * UNIT_F32 * isa.state_dot(&states(block), &CODEBOOK, basis)
}

pub(crate) fn add(isa: InstructionSet, sum: &mut [f32], block: &[u8], weight: f32) {
  isa.add_states(sum, &states(block), &CODEBOOK, weight * read_half(block) * UNIT_F32);
}

fn multiply(values: &mut [f32], signs: &[f32]) {
  for (value, sign) in values.iter_mut().zip(signs) {
    *value *= sign;
  }
}

pub(crate) fn to_basis(isa: InstructionSet, query: &[f32], basis: &mut [f32]) {
  let [before, after] = &*TCQ_SIGNS;
  basis.copy_from_slice(query);
  multiply(basis, before);
  isa.hadamard(basis);
  isa.scale(basis, UNIT_F32);
  multiply(basis, after);
}

pub(crate) fn from_basis(isa: InstructionSet, sum: &mut [f32], values: &mut [f32]) {
  let [before, after] = &*TCQ_SIGNS;
  multiply(sum, after);
  isa.hadamard(sum);
  isa.scale(sum, UNIT_F32);
  multiply(sum, before);
  values.copy_from_slice(sum);
}
