//! The formats: each file knows one layout, how a block is written, and how its codes meet a rotated query.

pub(crate) mod polar;
pub(crate) mod qjl;
pub(crate) mod tcq;
pub(crate) mod turbo;
pub(crate) mod turbo_k;

use std::cmp::Ordering;

use half::f16;

use crate::error::TooLarge;

/// A positive number as f32, rounded to odd: what is rounded again to fewer bits is then rounded as if it were done once.
#[allow(clippy::cast_possible_truncation)] // rounding is the purpose
pub(crate) fn to_odd(value: f64) -> f32 {
  let nearest = value as f32;
  let bits = nearest.to_bits();
  if !nearest.is_finite() || bits & 1 == 1 {
    return nearest;
  }
  match f64::from(nearest).partial_cmp(&value) {
    Some(Ordering::Less) => f32::from_bits(bits + 1),
    Some(Ordering::Greater) => f32::from_bits(bits - 1),
    _ => nearest,
  }
}

/// The nearest number of 16 bits, if there is a finite one.
pub(crate) fn half(value: f64) -> Result<f16, TooLarge> {
  let rounded = f16::from_f32(to_odd(value));
  if rounded.is_finite() { Ok(rounded) } else { Err(TooLarge) }
}

pub(crate) fn write_half(to: &mut [u8], value: f16) {
  to.copy_from_slice(&value.to_le_bytes());
}

pub(crate) fn read_half(from: &[u8]) -> f32 {
  f16::from_le_bytes([from[0], from[1]]).to_f32()
}

/// Euclidean length.
pub(crate) fn norm(values: &[f64]) -> f64 {
  values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// `values / scale`, and zeros when there is no scale.
pub(crate) fn divide(values: &mut [f64], scale: f64) {
  let factor = if scale > 0.0 { 1.0 / scale } else { 0.0 };
  for value in values {
    *value *= factor;
  }
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn a_scale_is_rounded_once() {
    // A little above and below halfway between two numbers of 16 bits, nearer to it than f32 can tell.
    let (half_unit, little) = (2_f64.powi(-11), 2_f64.powi(-30));
    assert_eq!(half(1.0 + half_unit + little).ok(), Some(f16::from_bits(0x3C01)));
    assert_eq!(half(1.0 + 3.0 * half_unit - little).ok(), Some(f16::from_bits(0x3C01)));
    assert_eq!(half(1.0 + half_unit).ok(), Some(f16::ONE));
    assert_eq!(half(0.0).ok(), Some(f16::ZERO));
    assert!(half(65_520.0).is_err());
    assert_eq!(half(65_519.0).ok(), Some(f16::MAX));
  }
}
