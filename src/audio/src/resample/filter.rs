//! The filter between two rates, one row of coefficients for each phase.

use crate::error::{AudioError, Result};

/// Attenuation in the stop band that the window is designed for, in dB: some more than the 80 that are promised.
const ATTENUATION: f64 = 90.0;
/// Where the pass band ends and where the stop band begins, as parts of the smaller rate.
const PASS: f64 = 0.45;
const STOP: f64 = 0.5;
const MOST_COEFFICIENTS: usize = 1 << 20;

#[derive(Debug, Clone)]
pub(super) struct Filter {
  /// `to / from` in lowest terms: `up` phases, `down` of which pass from one output sample to the next.
  up: u64,
  down: u64,
  taps: usize,
  /// `up` rows of `taps` coefficients, in the order of the samples that they are multiplied with.
  rows: Vec<f32>,
}

impl Filter {
  pub(super) fn new(from: u32, to: u32) -> Result<Self> {
    let common = gcd(from, to);
    let (up, down) = ((to / common) as usize, (from / common) as usize);
    let smaller = f64::from(from.min(to));
    // Kaiser's formula for the length, in samples of the input.
    let transition = std::f64::consts::TAU * (STOP - PASS) * smaller / f64::from(from);
    let half = (0.5 * (ATTENUATION - 8.0) / (2.285 * transition)).ceil();
    let taps = 2 * half as usize;
    if up * taps > MOST_COEFFICIENTS {
      return Err(AudioError::invalid(format!(
        "{from} Hz to {to} Hz: too odd a ratio ({up}:{down}); convert to a common rate such as 16000, 44100 or 48000 first"
      )));
    }
    let cutoff = (PASS + STOP) * smaller / f64::from(from);
    let beta = 0.1102 * (ATTENUATION - 8.7);
    let mut rows = Vec::with_capacity(up * taps);
    for phase in 0..up {
      let fraction = phase as f64 / up as f64;
      let row = (0..taps).map(|tap| {
        let x = tap as f64 - (half - 1.0) - fraction;
        cutoff * sinc(cutoff * x) * kaiser(x / half, beta)
      });
      let row: Vec<f64> = row.collect();
      // Each phase passes a constant unchanged.
      let sum: f64 = row.iter().sum();
      rows.extend(row.iter().map(|value| (value / sum) as f32));
    }
    Ok(Self { up: up as u64, down: down as u64, taps, rows })
  }

  pub(super) fn taps(&self) -> usize {
    self.taps
  }

  /// Silence in front of the stream.
  pub(super) fn lead(&self) -> usize {
    self.taps / 2 - 1
  }

  pub(super) fn lookahead(&self) -> usize {
    self.taps / 2
  }

  /// The first of the samples under the filter, counted with the silence in front, and the phase, of output `index`.
  pub(super) fn position(&self, index: u64) -> (u64, usize) {
    let at = index * self.down;
    (at / self.up, (at % self.up) as usize)
  }

  pub(super) fn phase(&self, phase: usize) -> &[f32] {
    &self.rows[phase * self.taps..][..self.taps]
  }
}

fn gcd(a: u32, b: u32) -> u32 {
  if b == 0 { a } else { gcd(b, a % b) }
}

fn sinc(x: f64) -> f64 {
  let x = x * std::f64::consts::PI;
  if x.abs() < 1e-9 { 1.0 } else { x.sin() / x }
}

/// Kaiser's window at `x` in -1..=1.
fn kaiser(x: f64, beta: f64) -> f64 {
  bessel_i0(beta * (1.0 - x * x).max(0.0).sqrt()) / bessel_i0(beta)
}

/// The modified Bessel function of order 0, by its power series.
fn bessel_i0(x: f64) -> f64 {
  let quarter = x * x / 4.0;
  let (mut sum, mut term, mut k) = (1.0, 1.0, 1.0);
  while term > sum * 1e-17 {
    term *= quarter / (k * k);
    sum += term;
    k += 1.0;
  }
  sum
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn the_bessel_function_has_its_tabulated_values() {
    // Abramowitz and Stegun, table 9.8: I0(1), I0(5).
    assert!((bessel_i0(1.0) - 1.266_065_877_752_008).abs() < 1e-14);
    assert!((bessel_i0(5.0) - 27.239_871_823_604_44).abs() < 1e-12);
  }
}
