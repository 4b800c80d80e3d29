//! The adaptive filter: a Kalman filter for each frequency of each partition of the echo path.
//!
//! G. Enzner, P. Vary, "Frequency-domain adaptive Kalman filter for acoustic echo control in hands-free telephones",
//! Signal Processing 86 (2006); F. Kuech et al., "State-space architecture of the partitioned-block-based acoustic echo
//! controller", ICASSP 2014. The state is the echo path; each filter knows how far off it may be (`variance`) and weighs
//! what it sees by that and by the power of everything that is not echo (`noise`).

use super::far::FarEnd;
use super::spectrum::{BINS, Bins, FRAME, Fft, Spectrum, WIDTH};

/// Partitions of a frame each that the echo path is modelled by: 320 ms.
pub(super) const PARTITIONS: usize = 32;
/// How much the echo path is taken to change in a frame, as a share of its power.
const CHANGE: f32 = 2e-4;
/// Power that the unknown path is taken to have in its first partition, and what is left of it in each further one.
const PRIOR: f32 = 0.5;
const PRIOR_DECAY: f32 = 0.8;
/// Partitions that are constrained in each frame, in turn.
const CONSTRAINED: usize = 10;
/// How much of what a frame should teach is believed to be learnt: frames of a voice repeat each other.
const LEARNT: f32 = 0.25;
/// Least share of what is left that is taken for noise, and how fast the noise is followed.
const LEAST_NOISE: f32 = 0.05;
const NOISE_PACE: f32 = 0.3;
/// Share of the path that stays from frame to frame.
const KEPT: f32 = 0.9999;
const TINY: f32 = 1e-9;

#[derive(Clone)]
pub(super) struct Kalman {
  weights: Vec<Spectrum>,
  variance: Vec<Bins>,
  noise: Bins,
  turn: usize,
  echo: Spectrum,
  /// Expected power of the echo that the filter does not model.
  expected: Bins,
}

impl Kalman {
  pub(super) fn new() -> Self {
    let mut kalman = Self {
      weights: vec![Spectrum::ZERO; PARTITIONS],
      variance: vec![[0.0; WIDTH]; PARTITIONS],
      noise: [0.0; WIDTH],
      turn: 0,
      echo: Spectrum::ZERO,
      expected: [0.0; WIDTH],
    };
    kalman.reset();
    kalman
  }

  /// Knows nothing of the echo path.
  pub(super) fn reset(&mut self) {
    self.weights.fill(Spectrum::ZERO);
    self.noise = [0.0; WIDTH];
    self.turn = 0;
    let mut prior = PRIOR;
    for variance in &mut self.variance {
      variance[..BINS].fill(prior);
      prior *= PRIOR_DECAY;
    }
  }

  /// The echo in the near end's frame, if the path begins `delay` frames after the far end.
  pub(super) fn predict(&mut self, far: &FarEnd, delay: usize, fft: &mut Fft, echo: &mut [f32; FRAME]) {
    self.echo = Spectrum::ZERO;
    self.expected = [0.0; WIDTH];
    for (partition, (weights, variance)) in self.weights.iter().zip(&self.variance).enumerate() {
      let (x, power) = (far.spectrum(delay + partition), far.power(delay + partition));
      for bin in 0..WIDTH {
        self.echo.re[bin] += x.re[bin] * weights.re[bin] - x.im[bin] * weights.im[bin];
        self.echo.im[bin] += x.re[bin] * weights.im[bin] + x.im[bin] * weights.re[bin];
        self.expected[bin] += power[bin] * variance[bin];
      }
    }
    echo.copy_from_slice(&fft.inverse(&self.echo)[FRAME..]);
  }

  /// Spectrum of the predicted echo.
  pub(super) fn echo(&self) -> &Spectrum {
    &self.echo
  }

  /// Expected power of the echo that is left.
  pub(super) fn expected(&self) -> &Bins {
    &self.expected
  }

  /// Learns from `error`, the spectrum of a silent frame and what the prediction left of the near end's.
  /// `caution`: how much more noise to reckon with than is seen.
  pub(super) fn update(&mut self, far: &FarEnd, delay: usize, error: &Spectrum, caution: f32, fft: &mut Fft) {
    let inverse = self.weigh(error, caution);
    for (partition, (weights, variance)) in self.weights.iter_mut().zip(&mut self.variance).enumerate() {
      let (x, power) = (far.spectrum(delay + partition), far.power(delay + partition));
      for bin in 0..WIDTH {
        let gain = variance[bin] * inverse[bin];
        weights.re[bin] =
          KEPT * weights.re[bin] + gain * (x.re[bin] * error.re[bin] + x.im[bin] * error.im[bin]);
        weights.im[bin] =
          KEPT * weights.im[bin] + gain * (x.re[bin] * error.im[bin] - x.im[bin] * error.re[bin]);
        let known = weights.re[bin] * weights.re[bin] + weights.im[bin] * weights.im[bin];
        let grown = variance[bin] * (1.0 - LEARNT * gain * power[bin]) + CHANGE * known;
        variance[bin] = grown.min(PRIOR);
      }
    }
    for _ in 0..CONSTRAINED {
      fft.constrain(&mut self.weights[self.turn]);
      self.turn = (self.turn + 1) % PARTITIONS;
    }
  }

  /// One over the power that is expected in all, echo that is left and noise, after a look at the noise.
  fn weigh(&mut self, error: &Spectrum, caution: f32) -> Bins {
    let mut inverse = [0.0; WIDTH];
    for (bin, inverse) in inverse[..BINS].iter_mut().enumerate() {
      // Half of the block is silent: the noise of a full one has twice the power.
      let seen = 2.0 * (error.re[bin] * error.re[bin] + error.im[bin] * error.im[bin]);
      let noise = (seen - self.expected[bin]).max(LEAST_NOISE * seen);
      self.noise[bin] += NOISE_PACE * (noise - self.noise[bin]);
      *inverse = 1.0 / (self.expected[bin] + caution * self.noise[bin].max(noise) + TINY);
    }
    inverse
  }

  /// The path is another: what was learnt may be as wrong as it is large. `lost`: it is all wrong, and is forgotten.
  pub(super) fn doubt(&mut self, lost: bool) {
    for (weights, variance) in self.weights.iter_mut().zip(&mut self.variance) {
      let mut power = [0.0; WIDTH];
      weights.power(&mut power);
      let mean = power.iter().sum::<f32>() / BINS as f32;
      for (value, own) in variance[..BINS].iter_mut().zip(&power) {
        *value = value.max(own.max(mean)).min(PRIOR);
      }
      if lost {
        *weights = Spectrum::ZERO;
      }
    }
  }

  /// The path begins `frames` later (or earlier, if negative) than it did.
  pub(super) fn shift(&mut self, frames: isize) {
    let count = frames.unsigned_abs().min(PARTITIONS);
    if frames > 0 {
      self.weights.rotate_left(count);
      self.variance.rotate_left(count);
      for partition in PARTITIONS - count..PARTITIONS {
        self.forget(partition);
      }
    } else {
      self.weights.rotate_right(count);
      self.variance.rotate_right(count);
      for partition in 0..count {
        self.forget(partition);
      }
    }
  }

  fn forget(&mut self, partition: usize) {
    self.weights[partition] = Spectrum::ZERO;
    self.variance[partition][..BINS].fill(PRIOR * PRIOR_DECAY.powi(partition as i32));
  }
}
