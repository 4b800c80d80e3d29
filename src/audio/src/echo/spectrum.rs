//! Spectra of two frames, with real and imaginary parts apart so that the loops over them become vector code.

use std::sync::Arc;

use realfft::num_complex::Complex32;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

/// A sample of this size is no sound.
pub(super) const LOUDEST: f32 = 100.0;
/// Samples of a frame: 10 ms at 16 kHz.
pub(super) const FRAME: usize = 160;
/// Samples of a transform: the frame and the one before it.
pub(super) const BLOCK: usize = 2 * FRAME;
/// Frequencies of a transform, 0 to 8 kHz in steps of 50 Hz.
pub(super) const BINS: usize = FRAME + 1;
/// Room of a spectrum: [`BINS`] in whole vectors. What is beyond them stays 0.
pub(super) const WIDTH: usize = 168;

/// One real number for each frequency.
pub(super) type Bins = [f32; WIDTH];

/// The spectrum of [`BLOCK`] samples, not normalised.
#[derive(Debug, Clone)]
pub(super) struct Spectrum {
  pub re: Bins,
  pub im: Bins,
}

impl Spectrum {
  pub(super) const ZERO: Self = Self { re: [0.0; WIDTH], im: [0.0; WIDTH] };

  /// Squared magnitudes.
  pub(super) fn power(&self, out: &mut Bins) {
    for ((out, re), im) in out.iter_mut().zip(&self.re).zip(&self.im) {
      *out = re * re + im * im;
    }
  }
}

/// The transform of [`BLOCK`] samples in both directions, with its scratch memory.
#[derive(Clone)]
pub(super) struct Fft {
  forward: Arc<dyn RealToComplex<f32>>,
  inverse: Arc<dyn ComplexToReal<f32>>,
  bins: Box<[Complex32]>,
  samples: Box<[f32]>,
  scratch: Box<[Complex32]>,
}

impl Fft {
  pub(super) fn new() -> Self {
    let mut planner = RealFftPlanner::new();
    let forward = planner.plan_fft_forward(BLOCK);
    let inverse = planner.plan_fft_inverse(BLOCK);
    let scratch = forward.get_scratch_len().max(inverse.get_scratch_len());
    Self {
      forward,
      inverse,
      bins: vec![Complex32::default(); BINS].into(),
      samples: vec![0.0; BLOCK].into(),
      scratch: vec![Complex32::default(); scratch].into(),
    }
  }

  /// The spectrum of `first` followed by `second`.
  pub(super) fn forward(&mut self, first: &[f32], second: &[f32], out: &mut Spectrum) {
    self.samples[..FRAME].copy_from_slice(first);
    self.samples[FRAME..].copy_from_slice(second);
    self.forward_samples(out);
  }

  fn forward_samples(&mut self, out: &mut Spectrum) {
    let scratch = &mut self.scratch[..self.forward.get_scratch_len()];
    let done = self.forward.process_with_scratch(&mut self.samples, &mut self.bins, scratch);
    debug_assert!(done.is_ok(), "the lengths are those of the plan");
    for (bin, value) in self.bins.iter().enumerate() {
      (out.re[bin], out.im[bin]) = (value.re, value.im);
    }
  }

  /// The samples of `spectrum`, normalised.
  pub(super) fn inverse(&mut self, spectrum: &Spectrum) -> &mut [f32] {
    for (bin, value) in self.bins.iter_mut().enumerate() {
      *value = Complex32::new(spectrum.re[bin], spectrum.im[bin]);
    }
    // A real signal has no phase at the ends; the plan refuses one.
    (self.bins[0].im, self.bins[BINS - 1].im) = (0.0, 0.0);
    let scratch = &mut self.scratch[..self.inverse.get_scratch_len()];
    let done = self.inverse.process_with_scratch(&mut self.bins, &mut self.samples, scratch);
    debug_assert!(done.is_ok(), "the lengths are those of the plan");
    for sample in &mut self.samples {
      *sample /= BLOCK as f32;
    }
    &mut self.samples
  }

  /// Takes the second half of the impulse response out of `spectrum`: what only the circle of the transform put there.
  pub(super) fn constrain(&mut self, spectrum: &mut Spectrum) {
    self.inverse(spectrum);
    self.samples[FRAME..].fill(0.0);
    self.forward_samples(spectrum);
  }
}
