//! Plain Rust.

use super::loops::loops;
use super::vector::Vector;

#[derive(Clone, Copy)]
struct Portable([f32; 16]);

fn lanes(lane: impl FnMut(usize) -> f32) -> Portable {
  Portable(std::array::from_fn(lane))
}

impl Vector for Portable {
  unsafe fn splat(value: f32) -> Self {
    Self([value; 16])
  }

  unsafe fn load(from: &[f32; 16]) -> Self {
    Self(*from)
  }

  unsafe fn store(self, to: &mut [f32; 16]) {
    *to = self.0;
  }

  unsafe fn add(self, other: Self) -> Self {
    lanes(|i| self.0[i] + other.0[i])
  }

  unsafe fn sub(self, other: Self) -> Self {
    lanes(|i| self.0[i] - other.0[i])
  }

  unsafe fn mul(self, other: Self) -> Self {
    lanes(|i| self.0[i] * other.0[i])
  }

  unsafe fn negate(self, bits: u16) -> Self {
    lanes(|i| if bits >> i & 1 == 1 { -self.0[i] } else { self.0[i] })
  }

  unsafe fn exchange<const DISTANCE: usize>(self) -> Self {
    lanes(|i| self.0[i ^ DISTANCE])
  }

  unsafe fn levels(levels: &[f32; 16], codes: &[u8; 16]) -> Self {
    lanes(|i| levels[usize::from(codes[i] & 15)])
  }

  unsafe fn states(codebook: &[f32; 512], states: &[u16; 16]) -> Self {
    lanes(|i| codebook[usize::from(states[i] & 511)])
  }
}

loops!(Portable, pub(super));
