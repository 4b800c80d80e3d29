//! Echo cancellation: takes what a loudspeaker plays (the far end) out of what a microphone records (the near end).
//!
//! Two outputs. The linear one only has the predicted echo subtracted: speech in it is whole, so it is what a recogniser
//! and wake words listen to. The suppressed one has the rest of the echo taken down too, which also harms speech: it is
//! for deciding whether somebody speaks.

mod delay;
mod detect;
mod drift;
mod far;
mod kalman;
mod spectrum;
mod suppress;

use crate::error::{AudioError, Result};
use delay::DelayEstimator;
use detect::{Detector, SILENCE, Verdict};
use drift::{DriftTracker, LATENESS};
use far::FarEnd;
use kalman::{Kalman, PARTITIONS};
use spectrum::{Fft, LOUDEST, Spectrum};
use suppress::Suppressor;

/// Samples of a frame: 10 ms.
pub const FRAME: usize = spectrum::FRAME;
/// Samples a second of both ends.
pub const RATE: u32 = 16_000;
/// Longest delay from the far end to the beginning of its echo that is found, in frames.
const MOST_DELAY: usize = 50;
/// Samples that the filter begins before the echo does.
const LEAD: i32 = 64;
/// Frames of the filter within which the beginning of the echo may lie before the filter is moved.
const ROOM: i32 = 5;
/// Frames of a harmful prediction after which the filter begins anew.
const HOPELESS: u32 = 25;
/// A far end that is this much behind is taken to have been silent meanwhile: 0.5 s.
const BEHIND: u64 = 8_000;

/// What an [`EchoCanceller`] knows after a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EchoReport {
  /// Echo return loss enhancement of the linear output in dB: how much of the near end's power is gone, over about the last
  /// half second in which only echo was heard. 0 before that.
  pub erle_db: f32,
  /// Somebody speaks while the far end is heard.
  pub double_talk: bool,
  /// Time from the far end to the beginning of its echo in ms, once known. Negative: the far end comes too late, so that its
  /// echo cannot be cancelled.
  pub delay_ms: Option<f32>,
  /// The filter has learnt the echo path: `erle_db` is above 10.
  pub converged: bool,
  /// How much faster the far end's clock runs than the near end's, in parts per million, as far as it is learnt.
  pub drift_ppm: f32,
}

/// Cancels the echo of one loudspeaker in one microphone.
#[derive(Clone)]
pub struct EchoCanceller {
  fft: Fft,
  far: FarEnd,
  kalman: Kalman,
  estimator: DelayEstimator,
  detector: Detector,
  drift: DriftTracker,
  suppressor: Suppressor,
  position: u64,
  /// Frames by which the far end's first partition is late.
  delay: usize,
  lag: Option<i32>,
  error: Spectrum,
  /// Share of the prediction that is subtracted: 1, or 0 while it does harm.
  share: f32,
  /// Frames for which it did.
  harm: u32,
}

impl Default for EchoCanceller {
  fn default() -> Self {
    Self::new()
  }
}

impl EchoCanceller {
  /// Knows nothing yet of the echo.
  pub fn new() -> Self {
    Self {
      fft: Fft::new(),
      far: FarEnd::new(MOST_DELAY + PARTITIONS + 1),
      kalman: Kalman::new(),
      estimator: DelayEstimator::new(),
      detector: Detector::default(),
      drift: DriftTracker::new(),
      suppressor: Suppressor::new(),
      position: 0,
      delay: 0,
      lag: None,
      error: Spectrum::ZERO,
      share: 1.0,
      harm: 0,
    }
  }

  /// Appends what the loudspeaker is given to play, mono samples in -1..=1. Sample `n` of the far end belongs to sample `n`
  /// of the near end; it may be pushed up to 2 s earlier, and later by as much as its echo is. A far end that is more than
  /// half a second behind is taken to have been silent until now.
  pub fn push_far(&mut self, samples: &[f32]) {
    self.catch_up();
    self.far.push(samples);
  }

  /// The next `count` samples of the far end were played, but are not known.
  pub fn lose_far(&mut self, count: usize) {
    self.catch_up();
    self.far.skip(count as u64, true);
  }

  fn catch_up(&mut self) {
    if self.far.end() + BEHIND < self.position {
      self.far.skip(self.position - self.far.end(), false);
    }
  }

  /// Takes a frame of the near end, [`FRAME`] samples, and writes both outputs of it: `linear` at once, `suppressed` a frame
  /// late. Fails with `InvalidInput` if a length is another; a frame with a sample that is not finite, or
  /// beyond 100 times full scale, passes as silence and nothing is learnt from it.
  pub fn process(&mut self, near: &[f32], linear: &mut [f32], suppressed: &mut [f32]) -> Result<EchoReport> {
    let (Some(near), Some(linear), Some(suppressed)) =
      (exact(near), exact_mut(linear), exact_mut(suppressed))
    else {
      return Err(AudioError::invalid(format!("a frame has {FRAME} samples: 10 ms at {RATE} Hz")));
    };
    let sound = near.iter().all(|sample| sample.abs() < LOUDEST);
    let silence = [0.0; FRAME];
    let near = if sound { near } else { &silence };
    self.keep_pace();
    let audible = (self.delay..self.delay + PARTITIONS / 2).any(|age| self.far.level(age) > SILENCE);
    self.align(near);

    let mut echo = [0.0; FRAME];
    self.kalman.predict(&self.far, self.delay, &mut self.fft, &mut echo);
    if !echo.iter().all(|sample| sample.abs() < LOUDEST) {
      self.kalman.reset();
      self.kalman.predict(&self.far, self.delay, &mut self.fft, &mut echo);
    }
    let left = std::array::from_fn(|at| near[at] - echo[at]);
    let (predicted, expected) = (self.kalman.echo().clone(), *self.kalman.expected());
    let verdict = self.detector.look(near, &left, &echo, audible);
    let known = sound && audible && !self.far.any_lost(self.delay, PARTITIONS / 2);
    self.fft.forward(&silence, &left, &mut self.error);
    if known {
      self.learn(verdict, &echo, &left);
    }
    self.subtract(near, &echo, linear);
    let single = !self.detector.double_talk();
    self.suppressor.process(linear, &predicted, &expected, single && known, &mut self.fft, suppressed);
    Ok(self.report())
  }

  /// Reads the far end's next frame; when its clock has run away by a frame, two or none.
  fn keep_pace(&mut self) {
    let start = self.position;
    self.position += FRAME as u64;
    let shifter = self.far.shifter();
    let away = shifter.offset() + LATENESS;
    if away > 1.0 && self.delay > 0 {
      shifter.jump(-(FRAME as f64));
      self.delay -= 1;
      return;
    }
    if away < -(FRAME as f64) && self.delay + 1 < MOST_DELAY {
      self.far.advance(start, &mut self.fft);
      self.far.shifter().jump(FRAME as f64);
      self.delay += 1;
    }
    self.far.advance(start, &mut self.fft);
  }

  /// Moves the filter to where the echo begins.
  fn align(&mut self, near: &[f32; FRAME]) {
    let heard = self.far.level(0) > SILENCE;
    let Some(lag) = self.estimator.push(near, self.far.frame(), heard) else { return };
    let first = self.lag.is_none();
    self.lag = Some(lag);
    let frame = FRAME as i32;
    let begins = lag - self.delay as i32 * frame;
    if !first && (LEAD / 2..ROOM * frame).contains(&begins) {
      return;
    }
    let wanted = ((lag - LEAD).max(0) / frame).min(MOST_DELAY as i32) as usize;
    if first {
      self.kalman.reset();
    } else {
      self.kalman.shift(wanted as isize - self.delay as isize);
    }
    self.delay = wanted;
  }

  fn learn(&mut self, verdict: Verdict, echo: &[f32; FRAME], left: &[f32; FRAME]) {
    if verdict != Verdict::Steady {
      self.kalman.doubt(verdict == Verdict::PathLost);
      self.drift.reset();
    }
    let caution = if self.detector.double_talk() { 4.0 } else { 1.0 };
    self.kalman.update(&self.far, self.delay, &self.error, caution, &mut self.fft);
    let trusted = self.detector.erle_db() > 5.0 && !self.detector.double_talk();
    self.drift.follow(echo, left, trusted, self.far.shifter());
  }

  /// Takes the prediction out of the near end as far as that helps: while the path is another than was learnt, it would add
  /// a second echo.
  fn subtract(&mut self, near: &[f32; FRAME], echo: &[f32; FRAME], linear: &mut [f32; FRAME]) {
    let before = if self.detector.louder() { 0.0 } else { self.share };
    self.share = if self.detector.harmful() { 0.0 } else { 1.0 };
    self.harm = if self.share == 0.0 { self.harm + 1 } else { 0 };
    for (at, ((out, near), echo)) in linear.iter_mut().zip(near).zip(echo).enumerate() {
      let share = before + (self.share - before) * at as f32 / FRAME as f32;
      *out = near - share * echo;
    }
    if self.harm > HOPELESS {
      self.kalman.reset();
      self.harm = 0;
    }
  }

  fn report(&mut self) -> EchoReport {
    let erle_db = self.detector.erle_db();
    EchoReport {
      erle_db,
      double_talk: self.detector.double_talk(),
      delay_ms: self.lag.map(|lag| (f64::from(lag) - self.far.shifter().offset()) as f32 * 1e3 / RATE as f32),
      converged: erle_db > 10.0,
      drift_ppm: (self.far.shifter().rate() * 1e6) as f32,
    }
  }

  /// Forgets both streams and all that was learnt.
  pub fn reset(&mut self) {
    self.far.reset();
    self.kalman.reset();
    self.estimator.reset();
    self.detector.reset();
    self.drift.reset();
    self.suppressor.reset();
    (self.position, self.delay, self.lag) = (0, 0, None);
    (self.share, self.harm) = (1.0, 0);
  }
}

fn exact(samples: &[f32]) -> Option<&[f32; FRAME]> {
  samples.try_into().ok()
}

fn exact_mut(samples: &mut [f32]) -> Option<&mut [f32; FRAME]> {
  samples.try_into().ok()
}
