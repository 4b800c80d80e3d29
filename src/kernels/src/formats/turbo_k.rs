//! `TBQ3_K` and `TBQ4_K`: the two halves of 256 elements rotated by one dense matrix, one norm, Lloyd-Max levels.

use crate::codebook::{self, Codebook};
use crate::error::TooLarge;
use crate::formats::{divide, half, norm, read_half, write_half};
use crate::pack;
use crate::rotation::ORTHOGONAL_128;
use crate::simd::InstructionSet;

pub(crate) const ELEMENTS: usize = 256;
const HALF: usize = ELEMENTS / 2;

/// sqrt(256): a block of norm 1 has coordinates of variance 1 after this factor.
const SPREAD: f64 = 16.0;

/// What the two formats differ by.
pub(crate) struct TurboK {
  codebook: fn() -> &'static Codebook,
  pack: fn(&[u8], &mut [u8]),
  unpack: fn(&[u8], &mut [u8]),
}

pub(crate) const THREE: TurboK =
  TurboK { codebook: || &codebook::THREE_BITS, pack: pack::pack_threes, unpack: pack::unpack_threes };
pub(crate) const FOUR: TurboK =
  TurboK { codebook: || &codebook::FOUR_BITS, pack: pack::pack_pairs, unpack: pack::unpack_pairs };

impl TurboK {
  pub(crate) fn encode(&self, values: &[f64], block: &mut [u8]) -> Result<(), TooLarge> {
    let mut rotated = [0.0; ELEMENTS];
    for (from, to) in values.chunks_exact(HALF).zip(rotated.chunks_exact_mut(HALF)) {
      ORTHOGONAL_128.apply(from, to);
    }
    let length = half(norm(values))?;
    divide(&mut rotated, length.to_f64() / SPREAD);
    let codes: Vec<u8> = rotated.iter().map(|value| (self.codebook)().nearest(*value)).collect();
    let (codes_at, norm_at) = block.split_at_mut(block.len() - 2);
    (self.pack)(&codes, codes_at);
    write_half(norm_at, length);
    Ok(())
  }

  #[allow(clippy::cast_possible_truncation)] // a power of two
  fn parts(&self, block: &[u8]) -> (f32, [u8; ELEMENTS]) {
    let (codes_at, norm_at) = block.split_at(block.len() - 2);
    let mut codes = [0; ELEMENTS];
    (self.unpack)(codes_at, &mut codes);
    (read_half(norm_at) / SPREAD as f32, codes)
  }

  pub(crate) fn score(&self, isa: InstructionSet, block: &[u8], basis: &[f32]) -> f32 {
    let (scale, codes) = self.parts(block);
    scale * isa.level_dot(&codes, &(self.codebook)().levels, basis)
  }

  pub(crate) fn add(&self, isa: InstructionSet, sum: &mut [f32], block: &[u8], weight: f32) {
    let (scale, codes) = self.parts(block);
    isa.add_levels(sum, &codes, &(self.codebook)().levels, weight * scale);
  }
}

/// Applies `map` to each half in f64.
#[allow(clippy::cast_possible_truncation)] // f32 is what the kernels compute in
fn map_halves(from: &[f32], to: &mut [f32], map: impl Fn(&[f64], &mut [f64])) {
  for (from, to) in from.chunks_exact(HALF).zip(to.chunks_exact_mut(HALF)) {
    let from: Vec<f64> = from.iter().map(|value| f64::from(*value)).collect();
    let mut mapped = [0.0; HALF];
    map(&from, &mut mapped);
    for (to, value) in to.iter_mut().zip(mapped) {
      *to = value as f32;
    }
  }
}

pub(crate) fn to_basis(query: &[f32], basis: &mut [f32]) {
  map_halves(query, basis, |from, to| ORTHOGONAL_128.apply(from, to));
}

pub(crate) fn from_basis(sum: &[f32], values: &mut [f32]) {
  map_halves(sum, values, |from, to| ORTHOGONAL_128.apply_transposed(from, to));
}
