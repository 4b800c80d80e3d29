//! `Q4_POLAR`: Hadamard-128 without signs, the norm, 16 levels (arXiv 2603.29078; not the polar angles of arXiv 2502.02617).
//!
//! A block is `f16 norm, 64 bytes of codes, 16 bytes of which the lowest bit of the first is the residual's side`.

use crate::codebook::POLAR;
use crate::error::TooLarge;
use crate::formats::{divide, half, norm, read_half, write_half};
use crate::pack::{pack_pairs, unpack_pairs};
use crate::rotation::{RESIDUAL_SIGNS, hadamard};
use crate::simd::InstructionSet;

pub(crate) const BYTES: usize = 82;
const ELEMENTS: usize = 128;
const RESIDUAL_AT: usize = 66;

/// The transform applied twice multiplies by 128.
const INVERSE: f32 = 1.0 / 128.0;

/// 0.5 / sqrt(128): how far the residual bit moves every code.
const CORRECTION: f32 = std::f32::consts::FRAC_1_SQRT_2 / 16.0;

pub(crate) fn encode(values: &[f64], block: &mut [u8], residual: bool) -> Result<(), TooLarge> {
  let mut rotated = values.to_vec();
  hadamard(&mut rotated);
  let length = half(norm(values))?;
  // The transform made it sqrt(128) times as long: this gives variance 1.
  divide(&mut rotated, length.to_f64());
  let codes: Vec<u8> = rotated.iter().map(|value| POLAR.nearest(*value)).collect();
  block.fill(0);
  write_half(&mut block[..2], length);
  pack_pairs(&codes, &mut block[2..RESIDUAL_AT]);
  if residual {
    let rest =
      rotated.iter().zip(&codes).map(|(value, code)| value - f64::from(POLAR.levels[usize::from(*code)]));
    let along: f64 = rest.enumerate().map(|(i, rest)| if is_positive(i) { rest } else { -rest }).sum();
    block[RESIDUAL_AT] = u8::from(along >= 0.0);
  }
  Ok(())
}

fn is_positive(i: usize) -> bool {
  RESIDUAL_SIGNS[i / 8] >> (i % 8) & 1 == 1
}

fn codes(block: &[u8]) -> [u8; ELEMENTS] {
  let mut codes = [0; ELEMENTS];
  unpack_pairs(&block[2..RESIDUAL_AT], &mut codes);
  codes
}

fn correction(block: &[u8]) -> f32 {
  if block[RESIDUAL_AT] & 1 == 1 { CORRECTION } else { -CORRECTION }
}

pub(crate) fn score(isa: InstructionSet, block: &[u8], basis: &[f32], residual: bool) -> f32 {
  let mut dot = isa.level_dot(&codes(block), &POLAR.levels, basis);
  if residual {
    dot += correction(block) * isa.sign_dot(&*RESIDUAL_SIGNS, basis);
  }
  read_half(block) * dot
}

pub(crate) fn add(isa: InstructionSet, sum: &mut [f32], block: &[u8], weight: f32, residual: bool) {
  let weight = weight * read_half(block);
  isa.add_levels(sum, &codes(block), &POLAR.levels, weight);
  if residual {
    isa.add_signs(sum, &*RESIDUAL_SIGNS, weight * correction(block));
  }
}

pub(crate) fn to_basis(isa: InstructionSet, query: &[f32], basis: &mut [f32]) {
  basis.copy_from_slice(query);
  isa.hadamard(basis);
  isa.scale(basis, INVERSE);
}

pub(crate) fn from_basis(isa: InstructionSet, sum: &mut [f32], values: &mut [f32]) {
  isa.hadamard(sum);
  isa.scale(sum, INVERSE);
  values.copy_from_slice(sum);
}
