//! A vector of numbers, as each instruction-set level has it.

/// Several numbers that are computed with at once.
///
/// # Safety
/// Every function of an implementation may be called only where its instructions are available.
pub(super) unsafe trait Lanes: Copy {
  /// How many numbers.
  const COUNT: usize;
  /// Positions of the input that are computed at once: with as many vectors of weights as registers allow.
  const POSITIONS: usize;

  unsafe fn splat(value: f32) -> Self;
  /// # Safety
  /// `from` points to [`Self::COUNT`] numbers.
  unsafe fn load(from: *const f32) -> Self;
  /// # Safety
  /// `to` points to room for [`Self::COUNT`] numbers.
  unsafe fn store(self, to: *mut f32);
  /// `self + a * b`.
  unsafe fn add_product(self, a: Self, b: Self) -> Self;
  unsafe fn add(self, other: Self) -> Self;
  unsafe fn times(self, other: Self) -> Self;
  unsafe fn max(self, other: Self) -> Self;
}

/// Eight numbers in plain code.
#[derive(Clone, Copy)]
pub(super) struct Plain([f32; 8]);

impl Plain {
  #[inline(always)]
  fn each(self, other: Self, combine: impl Fn(f32, f32) -> f32) -> Self {
    Self(std::array::from_fn(|lane| combine(self.0[lane], other.0[lane])))
  }
}

// SAFETY: plain code is available everywhere.
unsafe impl Lanes for Plain {
  const COUNT: usize = 8;
  const POSITIONS: usize = 4;

  #[inline(always)]
  unsafe fn splat(value: f32) -> Self {
    Self([value; 8])
  }
  #[inline(always)]
  unsafe fn load(from: *const f32) -> Self {
    // SAFETY: eight numbers, as the caller promises.
    Self(unsafe { from.cast::<[f32; 8]>().read_unaligned() })
  }
  #[inline(always)]
  unsafe fn store(self, to: *mut f32) {
    // SAFETY: room for eight numbers, as the caller promises.
    unsafe { to.cast::<[f32; 8]>().write_unaligned(self.0) };
  }
  #[inline(always)]
  unsafe fn add_product(self, a: Self, b: Self) -> Self {
    // Only where it is one instruction: elsewhere `mul_add` calls a library function.
    let fused = cfg!(target_arch = "aarch64");
    Self(std::array::from_fn(|lane| {
      if fused { a.0[lane].mul_add(b.0[lane], self.0[lane]) } else { self.0[lane] + a.0[lane] * b.0[lane] }
    }))
  }
  #[inline(always)]
  unsafe fn add(self, other: Self) -> Self {
    self.each(other, |a, b| a + b)
  }
  #[inline(always)]
  unsafe fn times(self, other: Self) -> Self {
    self.each(other, |a, b| a * b)
  }
  #[inline(always)]
  unsafe fn max(self, other: Self) -> Self {
    self.each(other, |a, b| if a > b { a } else { b })
  }
}

#[cfg(target_arch = "x86_64")]
macro_rules! x86_lanes {
  ($name:ident, $vector:ty, $count:literal, $positions:literal, $set1:ident, $load:ident, $store:ident, $fma:ident, $add:ident,
   $mul:ident, $max:ident) => {
    #[derive(Clone, Copy)]
    pub(in crate::nn) struct $name($vector);

    // SAFETY: each function is one instruction of the level, and called only where the level is available.
    #[allow(unsafe_op_in_unsafe_fn)]
    unsafe impl Lanes for $name {
      const COUNT: usize = $count;
      const POSITIONS: usize = $positions;

      #[inline(always)]
      unsafe fn splat(value: f32) -> Self {
        Self($set1(value))
      }
      #[inline(always)]
      unsafe fn load(from: *const f32) -> Self {
        Self($load(from))
      }
      #[inline(always)]
      unsafe fn store(self, to: *mut f32) {
        $store(to, self.0);
      }
      #[inline(always)]
      unsafe fn add_product(self, a: Self, b: Self) -> Self {
        Self($fma(a.0, b.0, self.0))
      }
      #[inline(always)]
      unsafe fn add(self, other: Self) -> Self {
        Self($add(self.0, other.0))
      }
      #[inline(always)]
      unsafe fn times(self, other: Self) -> Self {
        Self($mul(self.0, other.0))
      }
      #[inline(always)]
      unsafe fn max(self, other: Self) -> Self {
        Self($max(self.0, other.0))
      }
    }
  };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
  use super::Lanes;
  use std::arch::x86_64::{
    __m256, __m512, _mm256_add_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_max_ps, _mm256_mul_ps,
    _mm256_set1_ps, _mm256_storeu_ps, _mm512_add_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_max_ps,
    _mm512_mul_ps, _mm512_set1_ps, _mm512_storeu_ps,
  };

  x86_lanes!(
    Avx2,
    __m256,
    8,
    4,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_fmadd_ps,
    _mm256_add_ps,
    _mm256_mul_ps,
    _mm256_max_ps
  );
  x86_lanes!(
    Avx512,
    __m512,
    16,
    8,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_fmadd_ps,
    _mm512_add_ps,
    _mm512_mul_ps,
    _mm512_max_ps
  );
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};
