//! The mel spectrogram of openWakeWord: 32 bands every 10 ms, in decibels below the loudest of the chunk.
//!
//! A Hann window of 400 samples in the middle of 512, the power of its Fourier transform, 32 triangular bands,
//! `10 log10`, clamped to 80 dB below the largest value of the chunk, then `/ 10 + 2`, which the embedding was trained on.

use crate::error::Result;
use crate::vad::network::hann;
use crate::weights::Weights;
use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};
use std::sync::Arc;

/// Bands of a frame.
pub(super) const BANDS: usize = 32;
/// Samples in a chunk.
pub(super) const CHUNK: usize = 1280;
/// Frames that a chunk completes.
pub(super) const FRAMES: usize = 8;
/// Frames that the first chunk of a stream completes: nothing was before it.
pub(super) const FIRST_FRAMES: usize = 5;

const LENGTH: usize = 512;
const HOP: usize = 160;
const BINS: usize = LENGTH / 2 + 1;
/// Samples of the chunk before that the first window reaches back.
const OVERLAP: usize = LENGTH - HOP + 128;
/// 16-bit integers, which the embedding was trained on.
const SCALE: f32 = 32_768.0;

/// One band: the weights of the bins from `first` on.
struct Band {
  first: usize,
  weights: Vec<f32>,
}

/// What all streams share.
pub(super) struct Filters {
  fourier: Arc<dyn RealToComplex<f64>>,
  window: [f64; LENGTH],
  bands: Vec<Band>,
}

impl Filters {
  pub(super) fn new(weights: &Weights) -> Result<Self> {
    let matrix = weights.get("mel", &[BINS, BANDS])?;
    let bands = (0..BANDS).map(|band| {
      let column: Vec<f32> = (0..BINS).map(|bin| matrix[bin * BANDS + band]).collect();
      let first = column.iter().position(|weight| *weight != 0.0).unwrap_or(0);
      let end = column.iter().rposition(|weight| *weight != 0.0).map_or(first, |last| last + 1);
      Band { first, weights: column[first..end].to_vec() }
    });
    let window =
      std::array::from_fn(|index| if (56..456).contains(&index) { hann(index - 56, 400) } else { 0.0 });
    Ok(Self { fourier: RealFftPlanner::new().plan_fft_forward(LENGTH), window, bands: bands.collect() })
  }
}

/// One stream.
pub(super) struct Mel {
  filters: Arc<Filters>,
  /// The end of the chunk before, and the chunk.
  samples: [f32; OVERLAP + CHUNK],
  started: bool,
  frame: Vec<f64>,
  spectrum: Vec<Complex<f64>>,
  scratch: Vec<Complex<f64>>,
  power: [f32; BINS],
}

impl Mel {
  pub(super) fn new(filters: Arc<Filters>) -> Self {
    let frame = filters.fourier.make_input_vec();
    let spectrum = filters.fourier.make_output_vec();
    let scratch = filters.fourier.make_scratch_vec();
    let samples = [0.0; OVERLAP + CHUNK];
    Self { filters, samples, started: false, frame, spectrum, scratch, power: [0.0; BINS] }
  }

  pub(super) fn reset(&mut self) {
    self.started = false;
  }

  /// Writes the frames that `chunk` completes to the end of `rows`, and says how many.
  pub(super) fn push(&mut self, chunk: &[f32; CHUNK], rows: &mut [[f32; BANDS]; FRAMES]) -> usize {
    self.samples.copy_within(CHUNK.., 0);
    for (sample, new) in self.samples[OVERLAP..].iter_mut().zip(chunk) {
      *sample = new * SCALE;
    }
    let count = if self.started { FRAMES } else { FIRST_FRAMES };
    self.started = true;
    let mut loudest = f32::NEG_INFINITY;
    for (index, row) in rows.iter_mut().enumerate().skip(FRAMES - count) {
      self.analyse(index * HOP, row);
      loudest = row.iter().copied().fold(loudest, f32::max);
    }
    for value in rows[FRAMES - count..].as_flattened_mut() {
      *value = value.max(loudest - 80.0) / 10.0 + 2.0;
    }
    count
  }

  /// Decibels of the bands in the window from sample `at` on.
  fn analyse(&mut self, at: usize, row: &mut [f32; BANDS]) {
    let samples = &self.samples[at..][..LENGTH];
    for ((to, sample), weight) in self.frame.iter_mut().zip(samples).zip(&self.filters.window) {
      *to = f64::from(*sample) * weight;
    }
    let fourier = &self.filters.fourier;
    let done = fourier.process_with_scratch(&mut self.frame, &mut self.spectrum, &mut self.scratch);
    debug_assert!(done.is_ok(), "the buffers were made for this transform");
    for (power, value) in self.power.iter_mut().zip(&self.spectrum) {
      *power = value.norm_sqr() as f32;
    }
    for (value, band) in row.iter_mut().zip(&self.filters.bands) {
      let power = &self.power[band.first..][..band.weights.len()];
      let sum: f32 = power.iter().zip(&band.weights).map(|(power, weight)| power * weight).sum();
      *value = 10.0 * sum.max(1e-10).ln() / std::f32::consts::LN_10;
    }
  }
}

const _: () = assert!(OVERLAP == 480 && (OVERLAP + CHUNK - LENGTH) / HOP + 1 == FRAMES);
const _: () = assert!((CHUNK - LENGTH) / HOP + 1 == FIRST_FRAMES && (FRAMES - FIRST_FRAMES) * HOP == OVERLAP);
