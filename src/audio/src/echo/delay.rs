//! Where the echo begins: the correlation of both ends over the last second.
//!
//! A generalised cross-correlation (C. Knapp, G. Carter, IEEE Trans. ASSP 24, 1976) at 2 kHz, whitened by the powers of
//! both ends, of spectra that are averaged over time.

use std::sync::Arc;

use realfft::num_complex::Complex32;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

use super::spectrum::FRAME;
use crate::dot::dot;

const DECIMATION: usize = 8;
const TAPS: usize = 64;
/// Decimated samples of a frame.
const STEP: usize = FRAME / DECIMATION;
/// Decimated samples of the far end that are compared: 1.024 s.
const SPAN: usize = 2048;
/// Decimated samples of the near end that are compared: 256 ms.
const NEAR: usize = 512;
/// How much earlier than the far end an echo is looked for: 50 ms, in decimated samples.
const EARLY: usize = 100;
/// How much later: 500 ms, in decimated samples.
const LATE: usize = 1000;
/// Frames between two looks.
const EVERY: u32 = 8;
/// Share of the past that stays in the averages at a look.
const MEMORY: f32 = 0.8;
/// How far the peak must stand out of the correlation's root mean square.
const CLEAR: f32 = 7.0;

/// One end at 2 kHz, newest last.
#[derive(Clone)]
struct Decimated {
  samples: Box<[f32]>,
  input: [f32; FRAME + TAPS],
}

impl Decimated {
  fn new() -> Self {
    Self { samples: vec![0.0; SPAN].into(), input: [0.0; FRAME + TAPS] }
  }

  fn push(&mut self, frame: &[f32; FRAME], filter: &[f32; TAPS]) {
    self.input.copy_within(FRAME.., 0);
    self.input[TAPS..].copy_from_slice(frame);
    self.samples.copy_within(STEP.., 0);
    for step in 0..STEP {
      let end = (step + 1) * DECIMATION;
      self.samples[SPAN - STEP + step] = dot(&self.input[end..end + TAPS], filter);
    }
  }
}

#[derive(Clone)]
pub(super) struct DelayEstimator {
  forward: Arc<dyn RealToComplex<f32>>,
  inverse: Arc<dyn ComplexToReal<f32>>,
  filter: [f32; TAPS],
  near: Decimated,
  far: Decimated,
  cross: Box<[Complex32]>,
  near_power: Box<[f32]>,
  far_power: Box<[f32]>,
  time: Box<[f32]>,
  bins: Box<[Complex32]>,
  other: Box<[Complex32]>,
  scratch: Box<[Complex32]>,
  frames: u32,
  candidate: Option<i32>,
}

impl DelayEstimator {
  pub(super) fn new() -> Self {
    let mut planner = RealFftPlanner::new();
    let forward = planner.plan_fft_forward(SPAN);
    let inverse = planner.plan_fft_inverse(SPAN);
    let bins = SPAN / 2 + 1;
    let scratch = forward.get_scratch_len().max(inverse.get_scratch_len());
    Self {
      forward,
      inverse,
      filter: low_pass(),
      near: Decimated::new(),
      far: Decimated::new(),
      cross: vec![Complex32::default(); bins].into(),
      near_power: vec![0.0; bins].into(),
      far_power: vec![0.0; bins].into(),
      time: vec![0.0; SPAN].into(),
      bins: vec![Complex32::default(); bins].into(),
      other: vec![Complex32::default(); bins].into(),
      scratch: vec![Complex32::default(); scratch].into(),
      frames: 0,
      candidate: None,
    }
  }

  pub(super) fn reset(&mut self) {
    for end in [&mut self.near, &mut self.far] {
      end.samples.fill(0.0);
      end.input.fill(0.0);
    }
    self.forget();
    self.frames = 0;
  }

  /// Averages nothing from before this moment.
  pub(super) fn forget(&mut self) {
    self.cross.fill(Complex32::default());
    self.near_power.fill(0.0);
    self.far_power.fill(0.0);
    self.candidate = None;
  }

  /// Takes in a frame of both ends; `audible`: the far end is not silent. Samples from the far end to its echo, if this
  /// is a frame at which one look and the one before agree.
  pub(super) fn push(&mut self, near: &[f32; FRAME], far: &[f32; FRAME], audible: bool) -> Option<i32> {
    self.near.push(near, &self.filter);
    self.far.push(far, &self.filter);
    if audible {
      self.frames += 1;
    }
    if !audible || self.frames < EVERY {
      return None;
    }
    self.frames = 0;
    self.average();
    let found = self.peak();
    let agreed = found.filter(|now| self.candidate.is_some_and(|before| (now - before).abs() <= 4));
    self.candidate = found;
    agreed.map(|lag| lag * DECIMATION as i32)
  }

  fn average(&mut self) {
    self.time.copy_from_slice(&self.far.samples);
    transform(&*self.forward, &mut self.time, &mut self.other, &mut self.scratch);
    // The near end's newest samples are left out, so that the far end's after them are there too.
    let end = SPAN - EARLY;
    self.time.fill(0.0);
    self.time[end - NEAR..end].copy_from_slice(&self.near.samples[end - NEAR..end]);
    transform(&*self.forward, &mut self.time, &mut self.bins, &mut self.scratch);
    for bin in 0..self.bins.len() {
      let (near, far) = (self.bins[bin], self.other[bin]);
      self.cross[bin] = self.cross[bin] * MEMORY + near * far.conj();
      self.near_power[bin] = self.near_power[bin] * MEMORY + near.norm_sqr();
      self.far_power[bin] = self.far_power[bin] * MEMORY + far.norm_sqr();
    }
  }

  /// Lag of the highest peak, in decimated samples, if it stands out.
  fn peak(&mut self) -> Option<i32> {
    let mean: f32 =
      self.near_power.iter().zip(&self.far_power).map(|(near, far)| (near * far).sqrt()).sum::<f32>()
        / self.bins.len() as f32;
    let floor = 1e-2 * mean + 1e-12;
    // Below 100 Hz there is hum, above 900 Hz the low-pass filter's slope.
    let (low, high) = (SPAN / 20, SPAN * 9 / 20);
    for (bin, value) in self.bins.iter_mut().enumerate() {
      let power = (self.near_power[bin] * self.far_power[bin]).sqrt();
      *value =
        if (low..high).contains(&bin) { self.cross[bin] / (power + floor) } else { Complex32::default() };
    }
    let scratch = &mut self.scratch[..self.inverse.get_scratch_len()];
    self.inverse.process_with_scratch(&mut self.bins, &mut self.time, scratch).ok()?;
    let energy: f32 = self.time.iter().map(|value| value * value).sum::<f32>() / SPAN as f32;
    let at = |lag: i32| self.time[lag.rem_euclid(SPAN as i32) as usize].abs();
    let lags = -(EARLY as i32)..LATE as i32;
    let best = lags.max_by(|a, b| at(*a).total_cmp(&at(*b)))?;
    (at(best) > CLEAR * energy.sqrt()).then_some(best)
  }
}

fn transform(
  plan: &dyn RealToComplex<f32>,
  time: &mut [f32],
  bins: &mut [Complex32],
  scratch: &mut [Complex32],
) {
  let done = plan.process_with_scratch(time, bins, &mut scratch[..plan.get_scratch_len()]);
  debug_assert!(done.is_ok(), "the lengths are those of the plan");
}

/// A windowed sinc up to 0.9 kHz.
fn low_pass() -> [f32; TAPS] {
  let taps: [f32; TAPS] = std::array::from_fn(|tap| {
    let away = tap as f32 - (TAPS - 1) as f32 / 2.0;
    let phase = std::f32::consts::PI * away;
    let window = 0.54 + 0.46 * (phase / (TAPS as f32 / 2.0)).cos();
    (phase * 0.1125).sin() / phase * window
  });
  let sum: f32 = taps.iter().sum();
  taps.map(|tap| tap / sum)
}
