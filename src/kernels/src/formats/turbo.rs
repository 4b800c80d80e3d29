//! `TBQ3_0` and `TBQ4_0`: signs, Hadamard-32, one scale (the root mean square), Lloyd-Max levels.
//!
//! After `TurboQuant` (Zandieh, Daliri, Hadian, Mirrokni, arXiv 2504.19874, algorithm 1), with blocks of 32.

use crate::codebook::{self, Codebook};
use crate::error::TooLarge;
use crate::formats::{divide, half, norm, read_half, write_half};
use crate::pack;
use crate::rotation::{SIGNS_32, hadamard};
use crate::simd::InstructionSet;

pub(crate) const ELEMENTS: usize = 32;

/// Makes the transform orthonormal: 1/sqrt(32).
const UNIT: f64 = std::f64::consts::FRAC_1_SQRT_2 / 4.0;
#[allow(clippy::cast_possible_truncation)] // f32 is what the kernels compute in
const UNIT_F32: f32 = UNIT as f32;

/// What the two formats differ by.
pub(crate) struct Turbo {
  codebook: fn() -> &'static Codebook,
  pack: fn(&[u8], &mut [u8]),
  unpack: fn(&[u8], &mut [u8]),
}

pub(crate) const THREE: Turbo =
  Turbo { codebook: || &codebook::THREE_BITS, pack: pack::pack_threes, unpack: pack::unpack_threes };
pub(crate) const FOUR: Turbo =
  Turbo { codebook: || &codebook::FOUR_BITS, pack: pack::pack_halves, unpack: pack::unpack_halves };

impl Turbo {
  pub(crate) fn encode(&self, values: &[f64], block: &mut [u8]) -> Result<(), TooLarge> {
    let mut rotated: Vec<f64> =
      values.iter().zip(SIGNS_32.iter()).map(|(x, sign)| x * f64::from(*sign)).collect();
    hadamard(&mut rotated);
    let scale = half(norm(values) * UNIT)?;
    divide(&mut rotated, scale.to_f64() / UNIT);
    let codes: Vec<u8> = rotated.iter().map(|value| (self.codebook)().nearest(*value)).collect();
    write_half(&mut block[..2], scale);
    (self.pack)(&codes, &mut block[2..]);
    Ok(())
  }

  fn codes(&self, block: &[u8]) -> [u8; ELEMENTS] {
    let mut codes = [0; ELEMENTS];
    (self.unpack)(&block[2..], &mut codes);
    codes
  }

  pub(crate) fn score(&self, isa: InstructionSet, block: &[u8], basis: &[f32]) -> f32 {
    read_half(block) * isa.level_dot(&self.codes(block), &(self.codebook)().levels, basis)
  }

  pub(crate) fn add(&self, isa: InstructionSet, sum: &mut [f32], block: &[u8], weight: f32) {
    isa.add_levels(sum, &self.codes(block), &(self.codebook)().levels, weight * read_half(block));
  }
}

pub(crate) fn to_basis(isa: InstructionSet, query: &[f32], basis: &mut [f32]) {
  for ((to, from), sign) in basis.iter_mut().zip(query).zip(SIGNS_32.iter()) {
    *to = from * sign;
  }
  isa.hadamard(basis);
  isa.scale(basis, UNIT_F32);
}

pub(crate) fn from_basis(isa: InstructionSet, sum: &mut [f32], values: &mut [f32]) {
  isa.hadamard(sum);
  isa.scale(sum, UNIT_F32);
  for ((to, from), sign) in values.iter_mut().zip(sum).zip(SIGNS_32.iter()) {
    *to = *from * sign;
  }
}
