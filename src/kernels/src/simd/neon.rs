//! Sixteen lanes in four registers.

use std::arch::aarch64::{
  float32x4_t, vaddq_f32, vaddq_u8, vandq_u8, vandq_u32, vdupq_n_f32, vdupq_n_u8, vdupq_n_u32, veorq_u32,
  vextq_f32, vld1q_f32, vld1q_u8, vld1q_u8_x4, vld1q_u32, vmulq_f32, vqtbl1q_u8, vqtbl4q_u8,
  vreinterpretq_f32_u8, vreinterpretq_f32_u32, vreinterpretq_u32_f32, vrev64q_f32, vshlq_n_u8, vst1q_f32,
  vsubq_f32, vtstq_u32,
};

use super::loops::loops;
use super::vector::Vector;

#[derive(Clone, Copy)]
struct Neon([float32x4_t; 4]);

/// Which code each byte of four consecutive values belongs to, for the first four values.
const CODE_OF_BYTE: [u8; 16] = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3];
const BYTE_OF_VALUE: [u8; 16] = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3];
const LANE_BITS: [[u32; 4]; 4] = [
  [1, 2, 4, 8],
  [1 << 4, 1 << 5, 1 << 6, 1 << 7],
  [1 << 8, 1 << 9, 1 << 10, 1 << 11],
  [1 << 12, 1 << 13, 1 << 14, 1 << 15],
];

impl Vector for Neon {
  #[inline(always)]
  unsafe fn splat(value: f32) -> Self {
    // SAFETY: see `Vector`.
    unsafe { Self([vdupq_n_f32(value); 4]) }
  }

  #[inline(always)]
  unsafe fn load(from: &[f32; 16]) -> Self {
    // SAFETY: see `Vector`; four values fill a register.
    Self(std::array::from_fn(|i| unsafe { vld1q_f32(from[4 * i..4 * i + 4].as_ptr()) }))
  }

  #[inline(always)]
  unsafe fn store(self, to: &mut [f32; 16]) {
    for (i, values) in self.0.into_iter().enumerate() {
      // SAFETY: see `Vector`; four values fill a register.
      unsafe { vst1q_f32(to[4 * i..4 * i + 4].as_mut_ptr(), values) }
    }
  }

  #[inline(always)]
  unsafe fn add(self, other: Self) -> Self {
    // SAFETY: see `Vector`.
    Self(std::array::from_fn(|i| unsafe { vaddq_f32(self.0[i], other.0[i]) }))
  }

  #[inline(always)]
  unsafe fn sub(self, other: Self) -> Self {
    // SAFETY: see `Vector`.
    Self(std::array::from_fn(|i| unsafe { vsubq_f32(self.0[i], other.0[i]) }))
  }

  #[inline(always)]
  unsafe fn mul(self, other: Self) -> Self {
    // SAFETY: see `Vector`.
    Self(std::array::from_fn(|i| unsafe { vmulq_f32(self.0[i], other.0[i]) }))
  }

  #[inline(always)]
  unsafe fn negate(self, bits: u16) -> Self {
    // SAFETY: see `Vector`; four values fill a register.
    Self(std::array::from_fn(|i| unsafe {
      let set = vtstq_u32(vdupq_n_u32(u32::from(bits)), vld1q_u32(LANE_BITS[i].as_ptr()));
      let flip = vandq_u32(set, vdupq_n_u32(1 << 31));
      vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(self.0[i]), flip))
    }))
  }

  #[inline(always)]
  unsafe fn exchange<const DISTANCE: usize>(self) -> Self {
    let v = self.0;
    // SAFETY: see `Vector`.
    unsafe {
      Self(match DISTANCE {
        1 => v.map(|x| vrev64q_f32(x)),
        2 => v.map(|x| vextq_f32::<2>(x, x)),
        4 => [v[1], v[0], v[3], v[2]],
        _ => [v[2], v[3], v[0], v[1]],
      })
    }
  }

  #[inline(always)]
  unsafe fn levels(levels: &[f32; 16], codes: &[u8; 16]) -> Self {
    // SAFETY: see `Vector`; the levels are 64 bytes, and every index is below 64.
    unsafe {
      let table = vld1q_u8_x4(levels.as_ptr().cast());
      let first_byte = vshlq_n_u8::<2>(vandq_u8(vld1q_u8(codes.as_ptr()), vdupq_n_u8(15)));
      let (code, byte) = (vld1q_u8(CODE_OF_BYTE.as_ptr()), vld1q_u8(BYTE_OF_VALUE.as_ptr()));
      Self([0, 4, 8, 12].map(|group| {
        let bytes = vaddq_u8(vqtbl1q_u8(first_byte, vaddq_u8(code, vdupq_n_u8(group))), byte);
        vreinterpretq_f32_u8(vqtbl4q_u8(table, bytes))
      }))
    }
  }

  #[inline(always)]
  unsafe fn states(codebook: &[f32; 512], states: &[u16; 16]) -> Self {
    let values = states.map(|state| codebook[usize::from(state & 511)]);
    // SAFETY: see `Vector`.
    unsafe { Self::load(&values) }
  }
}

loops!(Neon, pub(super), "neon");
