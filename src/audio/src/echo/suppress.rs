//! The gate's output: what the filter left is taken down where it is likely to be echo.

use super::spectrum::{BINS, BLOCK, Bins, FRAME, Fft, Spectrum, WIDTH};

/// Smallest gain: -40 dB.
const FLOOR: f32 = 0.01;
/// How much more echo is taken away than is expected.
const OVER: f32 = 2.0;

#[derive(Clone)]
pub(super) struct Suppressor {
  window: [f32; BLOCK],
  previous: [f32; FRAME],
  tail: [f32; FRAME],
  spectrum: Spectrum,
  echo: Bins,
  left: Bins,
  /// Share of the predicted echo that is left, for each frequency.
  leak: Bins,
  gain: Bins,
}

impl Suppressor {
  pub(super) fn new() -> Self {
    let window = std::array::from_fn(|at| (std::f32::consts::PI * (at as f32 + 0.5) / BLOCK as f32).sin());
    Self {
      window,
      previous: [0.0; FRAME],
      tail: [0.0; FRAME],
      spectrum: Spectrum::ZERO,
      echo: [0.0; WIDTH],
      left: [0.0; WIDTH],
      leak: [1.0; WIDTH],
      gain: [1.0; WIDTH],
    }
  }

  pub(super) fn reset(&mut self) {
    *self = Self::new();
  }

  /// Suppresses `left` into `out`, a frame later. `echo`: spectrum of the prediction; `expected`: power of the echo that the
  /// filter knows it misses; `learn`: nobody speaks over the echo.
  pub(super) fn process(
    &mut self,
    left: &[f32; FRAME],
    echo: &Spectrum,
    expected: &Bins,
    learn: bool,
    fft: &mut Fft,
    out: &mut [f32; FRAME],
  ) {
    let mut first = self.previous;
    let mut second = *left;
    for (at, (first, second)) in first.iter_mut().zip(&mut second).enumerate() {
      *first *= self.window[at];
      *second *= self.window[FRAME + at];
    }
    fft.forward(&first, &second, &mut self.spectrum);
    self.weigh(echo, expected, learn);
    let samples = fft.inverse(&self.spectrum);
    for at in 0..FRAME {
      out[at] = self.tail[at] + samples[at] * self.window[at];
      self.tail[at] = samples[FRAME + at] * self.window[FRAME + at];
    }
    self.previous = *left;
  }

  fn weigh(&mut self, echo: &Spectrum, expected: &Bins, learn: bool) {
    for (bin, expected) in expected[..BINS].iter().enumerate() {
      let left = self.spectrum.re[bin].powi(2) + self.spectrum.im[bin].powi(2);
      // The window halves the power.
      let played = 0.5 * (echo.re[bin].powi(2) + echo.im[bin].powi(2));
      self.echo[bin] = (0.75 * self.echo[bin]).max(played);
      self.left[bin] += 0.5 * (left - self.left[bin]);
      if learn && self.echo[bin] > 1e-6 {
        let share = (self.left[bin] / self.echo[bin]).min(1.0);
        let pace = if share < self.leak[bin] { 0.05 } else { 0.02 };
        self.leak[bin] += pace * (share - self.leak[bin]);
      }
      let residual = OVER * (self.leak[bin] * self.echo[bin]) + 0.5 * expected;
      let gain = (1.0 - residual / self.left[bin].max(1e-12)).clamp(FLOOR, 1.0);
      self.gain[bin] += if gain > self.gain[bin] { 0.4 } else { 0.8 } * (gain - self.gain[bin]);
    }
    for bin in 0..BINS {
      self.spectrum.re[bin] *= self.gain[bin];
      self.spectrum.im[bin] *= self.gain[bin];
    }
  }
}
