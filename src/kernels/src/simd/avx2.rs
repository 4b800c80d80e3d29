//! Sixteen lanes in two registers.

use std::arch::x86_64::{
  __m256, __m256i, _mm_loadl_epi64, _mm_loadu_si128, _mm256_add_ps, _mm256_and_si256, _mm256_blendv_ps,
  _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cvtepu8_epi32, _mm256_cvtepu16_epi32,
  _mm256_i32gather_ps, _mm256_loadu_ps, _mm256_mul_ps, _mm256_permute_ps, _mm256_permute2f128_ps,
  _mm256_permutevar8x32_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setr_epi32, _mm256_slli_epi32,
  _mm256_storeu_ps, _mm256_sub_ps, _mm256_xor_si256,
};

use super::loops::loops;
use super::vector::Vector;

#[derive(Clone, Copy)]
struct Avx2(__m256, __m256);

/// Eight lanes negated where a bit of `bits` is set.
#[inline(always)]
unsafe fn negate_eight(values: __m256, bits: u16) -> __m256 {
  // SAFETY: see `Vector`.
  unsafe {
    let each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    let set = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(i32::from(bits)), each), each);
    let flip = _mm256_and_si256(set, _mm256_set1_epi32(i32::MIN));
    _mm256_castsi256_ps(_mm256_xor_si256(_mm256_castps_si256(values), flip))
  }
}

/// Three bits of a code choose within a half of the levels, the fourth chooses the half.
#[inline(always)]
unsafe fn eight_levels(low: __m256, high: __m256, codes: __m256i) -> __m256 {
  // SAFETY: see `Vector`.
  unsafe {
    let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(codes));
    let (low, high) = (_mm256_permutevar8x32_ps(low, codes), _mm256_permutevar8x32_ps(high, codes));
    _mm256_blendv_ps(low, high, upper)
  }
}

impl Vector for Avx2 {
  #[inline(always)]
  unsafe fn splat(value: f32) -> Self {
    // SAFETY: see `Vector`.
    unsafe { Self(_mm256_set1_ps(value), _mm256_set1_ps(value)) }
  }

  #[inline(always)]
  unsafe fn load(from: &[f32; 16]) -> Self {
    // SAFETY: see `Vector`; eight values fill a register.
    unsafe { Self(_mm256_loadu_ps(from[..8].as_ptr()), _mm256_loadu_ps(from[8..].as_ptr())) }
  }

  #[inline(always)]
  unsafe fn store(self, to: &mut [f32; 16]) {
    // SAFETY: see `Vector`; eight values fill a register.
    unsafe {
      _mm256_storeu_ps(to[..8].as_mut_ptr(), self.0);
      _mm256_storeu_ps(to[8..].as_mut_ptr(), self.1);
    }
  }

  #[inline(always)]
  unsafe fn add(self, other: Self) -> Self {
    // SAFETY: see `Vector`.
    unsafe { Self(_mm256_add_ps(self.0, other.0), _mm256_add_ps(self.1, other.1)) }
  }

  #[inline(always)]
  unsafe fn sub(self, other: Self) -> Self {
    // SAFETY: see `Vector`.
    unsafe { Self(_mm256_sub_ps(self.0, other.0), _mm256_sub_ps(self.1, other.1)) }
  }

  #[inline(always)]
  unsafe fn mul(self, other: Self) -> Self {
    // SAFETY: see `Vector`.
    unsafe { Self(_mm256_mul_ps(self.0, other.0), _mm256_mul_ps(self.1, other.1)) }
  }

  #[inline(always)]
  unsafe fn negate(self, bits: u16) -> Self {
    // SAFETY: see `Vector`.
    unsafe { Self(negate_eight(self.0, bits), negate_eight(self.1, bits >> 8)) }
  }

  #[inline(always)]
  unsafe fn exchange<const DISTANCE: usize>(self) -> Self {
    let Self(a, b) = self;
    // SAFETY: see `Vector`.
    unsafe {
      match DISTANCE {
        1 => Self(_mm256_permute_ps::<0b10_11_00_01>(a), _mm256_permute_ps::<0b10_11_00_01>(b)),
        2 => Self(_mm256_permute_ps::<0b01_00_11_10>(a), _mm256_permute_ps::<0b01_00_11_10>(b)),
        4 => Self(_mm256_permute2f128_ps::<1>(a, a), _mm256_permute2f128_ps::<1>(b, b)),
        _ => Self(b, a),
      }
    }
  }

  #[inline(always)]
  unsafe fn levels(levels: &[f32; 16], codes: &[u8; 16]) -> Self {
    // SAFETY: see `Vector`; a load takes eight codes, and the permutation uses three bits of each.
    unsafe {
      let Self(low, high) = Self::load(levels);
      let first = _mm256_cvtepu8_epi32(_mm_loadl_epi64(codes[..8].as_ptr().cast()));
      let second = _mm256_cvtepu8_epi32(_mm_loadl_epi64(codes[8..].as_ptr().cast()));
      Self(eight_levels(low, high, first), eight_levels(low, high, second))
    }
  }

  #[inline(always)]
  unsafe fn states(codebook: &[f32; 512], states: &[u16; 16]) -> Self {
    // SAFETY: see `Vector`; a load takes eight states, and nine bits of a state stay inside the codebook.
    unsafe {
      let mask = _mm256_set1_epi32(511);
      let first = _mm256_cvtepu16_epi32(_mm_loadu_si128(states[..8].as_ptr().cast()));
      let second = _mm256_cvtepu16_epi32(_mm_loadu_si128(states[8..].as_ptr().cast()));
      let table = codebook.as_ptr();
      Self(
        _mm256_i32gather_ps::<4>(table, _mm256_and_si256(first, mask)),
        _mm256_i32gather_ps::<4>(table, _mm256_and_si256(second, mask)),
      )
    }
  }
}

loops!(Avx2, pub(super), "avx2");
