//! Sixteen lanes in one register.

use std::arch::x86_64::{
  __m512, _mm_loadu_si128, _mm256_loadu_si256, _mm512_add_ps, _mm512_and_si512, _mm512_castps_si512,
  _mm512_castsi512_ps, _mm512_cvtepu8_epi32, _mm512_cvtepu16_epi32, _mm512_i32gather_ps, _mm512_loadu_ps,
  _mm512_mask_xor_epi32, _mm512_mul_ps, _mm512_permute_ps, _mm512_permutexvar_ps, _mm512_set1_epi32,
  _mm512_set1_ps, _mm512_shuffle_f32x4, _mm512_storeu_ps, _mm512_sub_ps,
};

use super::loops::loops;
use super::vector::Vector;

#[derive(Clone, Copy)]
struct Avx512(__m512);

impl Vector for Avx512 {
  #[inline(always)]
  unsafe fn splat(value: f32) -> Self {
    // SAFETY: see `Vector`.
    unsafe { Self(_mm512_set1_ps(value)) }
  }

  #[inline(always)]
  unsafe fn load(from: &[f32; 16]) -> Self {
    // SAFETY: see `Vector`; sixteen values fill the register.
    unsafe { Self(_mm512_loadu_ps(from.as_ptr())) }
  }

  #[inline(always)]
  unsafe fn store(self, to: &mut [f32; 16]) {
    // SAFETY: see `Vector`; sixteen values fill the register.
    unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) }
  }

  #[inline(always)]
  unsafe fn add(self, other: Self) -> Self {
    // SAFETY: see `Vector`.
    unsafe { Self(_mm512_add_ps(self.0, other.0)) }
  }

  #[inline(always)]
  unsafe fn sub(self, other: Self) -> Self {
    // SAFETY: see `Vector`.
    unsafe { Self(_mm512_sub_ps(self.0, other.0)) }
  }

  #[inline(always)]
  unsafe fn mul(self, other: Self) -> Self {
    // SAFETY: see `Vector`.
    unsafe { Self(_mm512_mul_ps(self.0, other.0)) }
  }

  #[inline(always)]
  unsafe fn negate(self, bits: u16) -> Self {
    // SAFETY: see `Vector`.
    unsafe {
      let values = _mm512_castps_si512(self.0);
      let negated = _mm512_mask_xor_epi32(values, bits, values, _mm512_set1_epi32(i32::MIN));
      Self(_mm512_castsi512_ps(negated))
    }
  }

  #[inline(always)]
  unsafe fn exchange<const DISTANCE: usize>(self) -> Self {
    // SAFETY: see `Vector`.
    unsafe {
      Self(match DISTANCE {
        1 => _mm512_permute_ps::<0b10_11_00_01>(self.0),
        2 => _mm512_permute_ps::<0b01_00_11_10>(self.0),
        4 => _mm512_shuffle_f32x4::<0b10_11_00_01>(self.0, self.0),
        _ => _mm512_shuffle_f32x4::<0b01_00_11_10>(self.0, self.0),
      })
    }
  }

  #[inline(always)]
  unsafe fn levels(levels: &[f32; 16], codes: &[u8; 16]) -> Self {
    // SAFETY: see `Vector`; the permutation uses four bits of each code.
    unsafe {
      let codes = _mm512_cvtepu8_epi32(_mm_loadu_si128(codes.as_ptr().cast()));
      Self(_mm512_permutexvar_ps(codes, _mm512_loadu_ps(levels.as_ptr())))
    }
  }

  #[inline(always)]
  unsafe fn states(codebook: &[f32; 512], states: &[u16; 16]) -> Self {
    // SAFETY: see `Vector`; nine bits of a state stay inside the codebook.
    unsafe {
      let states = _mm512_cvtepu16_epi32(_mm256_loadu_si256(states.as_ptr().cast()));
      let states = _mm512_and_si512(states, _mm512_set1_epi32(511));
      Self(_mm512_i32gather_ps::<4>(states, codebook.as_ptr().cast()))
    }
  }
}

loops!(Avx512, pub(super), "avx512f");
