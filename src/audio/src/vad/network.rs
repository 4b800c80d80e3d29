//! Silero VAD, versions 5 and 6: the probability that a window of 32 ms holds speech.
//!
//! A window of 512 samples with the 64 before it is mirrored at its end by 64 and seen through four Hann windows of 256;
//! the magnitudes of their Fourier transforms pass four convolutions over time (3 taps; steps 1, 2, 2, 1) with `ReLU`, a long
//! short-term memory of 128, `ReLU`, and one weighted sum into a sigmoid.

use crate::error::{AudioError, Result};
use crate::nn::{Activation, Level, Linear, Span, lstm_cell, sigmoid};
use crate::weights::Weights;
use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};
use std::sync::{Arc, OnceLock};

/// Samples of a window.
pub const WINDOW: usize = 512;
/// Samples a second.
pub const RATE: u32 = 16_000;

const CONTEXT: usize = 64;
const FRAME: usize = 256;
const HOP: usize = 128;
const FRAMES: usize = 4;
const BINS: usize = FRAME / 2 + 1;
const STATE: usize = 128;
/// Beyond this, samples are clipped: larger ones would overflow, and full scale is 1.
const LOUDEST: f32 = 1e6;

/// Which weights: the networks are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
  /// Silero VAD 5.
  V5,
  /// Silero VAD 6.2.
  V6,
}

struct Layers {
  level: Level,
  fourier: Arc<dyn RealToComplex<f64>>,
  window: [f64; FRAME],
  encoder: [Linear; 4],
  lstm: Linear,
  output: Vec<f32>,
  output_bias: f32,
}

impl Layers {
  fn new(version: Version, level: Level) -> Result<Self> {
    let bytes: &[u8] = match version {
      Version::V5 => include_bytes!("../../weights/silero-v5.safetensors"),
      Version::V6 => include_bytes!("../../weights/silero-v6.safetensors"),
    };
    let weights = Weights::parse(bytes)?;
    // Taps 0, 1, 2 of the third layer see the padding, the two frames; those of the fourth the padding, its only frame,
    // the padding: what meets padding is left out.
    let encoder = [
      convolution(&weights, level, 0, (BINS, 128), 0..3)?,
      convolution(&weights, level, 1, (128, 64), 0..3)?,
      convolution(&weights, level, 2, (64, 64), 1..3)?,
      convolution(&weights, level, 3, (64, 128), 1..2)?,
    ];
    let (input, state) = (weights.get("lstm.input", &[512, 128])?, weights.get("lstm.state", &[512, 128])?);
    let lstm = Linear::new(level, 2 * STATE, &weights.get("lstm.bias", &[512])?, |output, index| {
      if index < STATE { input[output * STATE + index] } else { state[output * STATE + index - STATE] }
    });
    Ok(Self {
      level,
      fourier: RealFftPlanner::new().plan_fft_forward(FRAME),
      window: std::array::from_fn(|index| hann(index, FRAME)),
      encoder,
      lstm,
      output: weights.get("output.weight", &[STATE])?,
      output_bias: weights.get("output.bias", &[1])?[0],
    })
  }

  /// The layers are made once for each version and level and shared by all streams.
  fn shared(version: Version, level: Level) -> Result<Arc<Self>> {
    static MADE: [[OnceLock<Arc<Layers>>; 3]; 2] = [const { [const { OnceLock::new() }; 3] }; 2];
    let made = &MADE[version as usize][level as usize];
    if let Some(layers) = made.get() {
      return Ok(Arc::clone(layers));
    }
    let layers = Arc::new(Self::new(version, level)?);
    Ok(Arc::clone(made.get_or_init(|| layers)))
  }
}

/// A convolution over time of the taps in `taps`, as a matrix over a run of frames.
fn convolution(
  weights: &Weights,
  level: Level,
  index: usize,
  (inputs, outputs): (usize, usize),
  taps: std::ops::Range<usize>,
) -> Result<Linear> {
  let weight = weights.get(&format!("encoder.{index}.weight"), &[outputs, inputs, 3])?;
  let bias = weights.get(&format!("encoder.{index}.bias"), &[outputs])?;
  Ok(Linear::new(level, inputs * taps.len(), &bias, |output, at| {
    weight[(output * inputs + at % inputs) * 3 + taps.start + at / inputs]
  }))
}

/// A periodic Hann window.
pub(crate) fn hann(index: usize, length: usize) -> f64 {
  let turn = std::f64::consts::TAU * index as f64 / length as f64;
  0.5 - 0.5 * turn.cos()
}

/// One stream through the network: the shared weights, and what this stream remembers.
pub struct Network {
  layers: Arc<Layers>,
  /// The context, the window, and its mirrored end.
  samples: [f32; CONTEXT + WINDOW + CONTEXT],
  /// In double precision, which costs little beside the layers.
  frame: Vec<f64>,
  spectrum: Vec<Complex<f64>>,
  scratch: Vec<Complex<f64>>,
  /// Frames with one of padding before and after.
  magnitudes: [f32; (FRAMES + 2) * BINS],
  first: [f32; (FRAMES + 1) * 128],
  second: [f32; 2 * 64],
  third: [f32; 64],
  /// What the memory sees: the encoded window, then its own state.
  seen: [f32; 2 * STATE],
  gates: [f32; 4 * STATE],
  cell: [f32; STATE],
}

impl Network {
  /// A new stream, computed with the best instructions of this processor.
  pub fn new(version: Version) -> Result<Self> {
    Self::with_level(version, Level::best())
  }

  /// A new stream, computed with the instructions of `level`. Fails with `InvalidInput` where the processor lacks them.
  pub fn with_level(version: Version, level: Level) -> Result<Self> {
    if !level.is_available() {
      return Err(AudioError::invalid(format!("this processor lacks {level:?}: use Level::best()")));
    }
    let layers = Layers::shared(version, level)?;
    let scratch = layers.fourier.make_scratch_vec();
    let spectrum = layers.fourier.make_output_vec();
    let frame = layers.fourier.make_input_vec();
    Ok(Self {
      layers,
      samples: [0.0; CONTEXT + WINDOW + CONTEXT],
      frame,
      spectrum,
      scratch,
      magnitudes: [0.0; (FRAMES + 2) * BINS],
      first: [0.0; (FRAMES + 1) * 128],
      second: [0.0; 128],
      third: [0.0; 64],
      seen: [0.0; 2 * STATE],
      gates: [0.0; 4 * STATE],
      cell: [0.0; STATE],
    })
  }

  /// The probability of speech, 0..=1, in the next window of [`WINDOW`] samples at [`RATE`]. Fails with `InvalidInput` for
  /// another length or samples that are not finite; the stream is then as if the call had not been.
  pub fn push(&mut self, window: &[f32]) -> Result<f32> {
    if window.len() != WINDOW {
      return Err(AudioError::invalid(format!("a window has {WINDOW} samples, this one {}", window.len())));
    }
    if window.iter().any(|sample| !sample.is_finite()) {
      return Err(AudioError::invalid("the window holds a sample that is not finite: leave it out"));
    }
    self.samples.copy_within(WINDOW..WINDOW + CONTEXT, 0);
    for (sample, new) in self.samples[CONTEXT..].iter_mut().zip(window) {
      *sample = new.clamp(-LOUDEST, LOUDEST);
    }
    let end = CONTEXT + WINDOW;
    for index in 0..CONTEXT {
      self.samples[end + index] = self.samples[end - 2 - index];
    }
    self.transform();
    Ok(self.infer())
  }

  /// Forgets all that was pushed.
  pub fn reset(&mut self) {
    self.samples.fill(0.0);
    self.seen.fill(0.0);
    self.cell.fill(0.0);
  }

  fn transform(&mut self) {
    for frame in 0..FRAMES {
      let samples = &self.samples[frame * HOP..][..FRAME];
      for ((to, sample), weight) in self.frame.iter_mut().zip(samples).zip(&self.layers.window) {
        *to = f64::from(*sample) * weight;
      }
      let fourier = &self.layers.fourier;
      let done = fourier.process_with_scratch(&mut self.frame, &mut self.spectrum, &mut self.scratch);
      debug_assert!(done.is_ok(), "the buffers were made for this transform");
      let magnitudes = &mut self.magnitudes[(frame + 1) * BINS..][..BINS];
      for (magnitude, value) in magnitudes.iter_mut().zip(&self.spectrum) {
        *magnitude = (value.norm_sqr() as f32).sqrt();
      }
    }
  }

  fn infer(&mut self) -> f32 {
    let layers = &self.layers;
    let run = |length| [Span { offset: 0, length }];
    let [first, second, third, fourth] = &layers.encoder;
    let positions = [0, BINS, 2 * BINS, 3 * BINS];
    // The first place of `first` is padding.
    first.apply(
      &self.magnitudes,
      &run(3 * BINS),
      &positions,
      &mut self.first,
      &[128, 256, 384, 512],
      Activation::RELU,
    );
    second.apply(&self.first, &run(3 * 128), &[0, 2 * 128], &mut self.second, &[0, 64], Activation::RELU);
    third.apply_to_one(&self.second, &mut self.third, Activation::RELU);
    fourth.apply_to_one(&self.third, &mut self.seen[..STATE], Activation::RELU);
    layers.lstm.apply_to_one(&self.seen, &mut self.gates, Activation::NONE);
    let state = &mut self.seen[STATE..];
    lstm_cell(layers.level, &self.gates, &mut self.cell, state);
    let sum: f32 = state.iter().zip(&layers.output).map(|(value, weight)| value.max(0.0) * weight).sum();
    sigmoid(sum + layers.output_bias)
  }
}
