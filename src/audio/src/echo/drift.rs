//! Two clocks: the far end is read at the pace of the near end's, and the difference of pace is learnt.

use std::f64::consts::PI;

use super::spectrum::FRAME;
use crate::ring::Ring;

/// Samples on each side of a position that its value is made from.
const REACH: usize = 12;
/// Samples that the far end is read late, so that the ones after a position are there.
pub(super) const LATENESS: f64 = 16.0;
/// Largest difference of the clocks that is followed.
const MOST_RATE: f64 = 400e-6;

/// Reads the far end at positions between its samples.
#[derive(Debug, Clone)]
pub(super) struct Shifter {
  /// Where a near end's sample lies in the far end, less its own index.
  offset: f64,
  /// How much `offset` grows with a sample.
  rate: f64,
}

impl Shifter {
  pub(super) fn new() -> Self {
    Self { offset: -LATENESS, rate: 0.0 }
  }

  pub(super) fn reset(&mut self) {
    *self = Self::new();
  }

  pub(super) fn offset(&self) -> f64 {
    self.offset
  }

  pub(super) fn rate(&self) -> f64 {
    self.rate
  }

  pub(super) fn set_rate(&mut self, rate: f64) {
    self.rate = rate.clamp(-MOST_RATE, MOST_RATE);
  }

  /// Reads `samples` later (or earlier) from now on.
  pub(super) fn jump(&mut self, samples: f64) {
    self.offset += samples;
  }

  /// The far end's frame for the near end's from index `start` on: a windowed sinc at the position of its middle.
  pub(super) fn read(&mut self, far: &Ring, start: u64, out: &mut [f32; FRAME]) {
    let position = start as f64 + self.offset + self.rate * (FRAME / 2) as f64;
    self.offset += self.rate * FRAME as f64;
    let whole = position.floor();
    let share = position - whole;
    if share == 0.0 {
      far.read(whole as i64, out);
      return;
    }
    let mut samples = [0.0f32; FRAME + 2 * REACH];
    far.read(whole as i64 - REACH as i64 + 1, &mut samples);
    let kernel = kernel(share);
    for (index, out) in out.iter_mut().enumerate() {
      *out =
        samples[index..index + 2 * REACH].iter().zip(&kernel).map(|(sample, value)| sample * value).sum();
    }
  }
}

/// The sinc at `share` samples after its sample `REACH - 1`, under a Hann window.
fn kernel(share: f64) -> [f32; 2 * REACH] {
  let height = (PI * share).sin();
  std::array::from_fn(|tap| {
    let away = tap as f64 - (REACH - 1) as f64 - share;
    let flip = if (tap + REACH).is_multiple_of(2) { 1.0 } else { -1.0 };
    let window = 0.5 + 0.5 * (PI * away / (REACH as f64 + 0.5)).cos();
    let value = if away.abs() < 1e-9 { 1.0 } else { flip * height / (PI * away) };
    (value * window) as f32
  })
}

/// Learns the difference of the clocks from how far the echo runs behind its prediction.
///
/// If the echo is the prediction `y` moved by a small time `t`, what is left is `-t y'`; so `t` is the projection of what
/// is left on the derivative of the prediction. The filter follows a steady drift at a steady distance: the pace is
/// changed until the distance is nothing.
#[derive(Debug, Clone)]
pub(super) struct DriftTracker {
  along: f32,
  slope: f32,
  before: f32,
  steady: u32,
}

/// Frames of a converged filter before its distance is believed.
const SETTLED: u32 = 30;
/// Change of pace in a frame for each sample of distance.
const PULL: f64 = 1.2e-6;

impl DriftTracker {
  pub(super) fn new() -> Self {
    Self { along: 0.0, slope: 0.0, before: 0.0, steady: 0 }
  }

  pub(super) fn reset(&mut self) {
    *self = Self::new();
  }

  /// A frame's prediction and what it left. `trusted`: the filter is converged, its prediction is heard, and nobody speaks
  /// over it.
  pub(super) fn follow(
    &mut self,
    echo: &[f32; FRAME],
    left: &[f32; FRAME],
    trusted: bool,
    shifter: &mut Shifter,
  ) {
    let (mut along, mut slope) = (0.0, 0.0);
    for index in 0..FRAME - 1 {
      let earlier = if index == 0 { self.before } else { echo[index - 1] };
      let rise = 0.5 * (echo[index + 1] - earlier);
      along += rise * left[index];
      slope += rise * rise;
    }
    self.before = echo[FRAME - 1];
    self.steady = if trusted { self.steady + 1 } else { self.steady.saturating_sub(2) };
    if !trusted {
      return;
    }
    self.along += 0.08 * (along - self.along);
    self.slope += 0.08 * (slope - self.slope);
    if self.steady > SETTLED && self.slope > 1e-9 {
      let late = -f64::from(self.along / self.slope).clamp(-1.0, 1.0);
      let rate = shifter.rate() - PULL * late;
      shifter.set_rate(rate);
    }
  }
}
