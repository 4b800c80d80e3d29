//! The far end: its samples by index, read at the near end's pace, and the spectra of its last frames.

use super::drift::Shifter;
use super::spectrum::{BINS, Bins, FRAME, Fft, LOUDEST, Spectrum, WIDTH};
use crate::ring::Ring;

/// Samples that are kept: 2 s.
const KEPT: usize = 32_000;

/// A frame of the far end as the filter sees it.
#[derive(Debug, Clone)]
struct Heard {
  spectrum: Spectrum,
  power: Bins,
  /// Samples of the frame are unknown.
  lost: bool,
}

/// Frames of the far end, newest first by [`FarEnd::spectrum`].
#[derive(Clone)]
pub(super) struct FarEnd {
  samples: Ring,
  /// Stretches that are unknown, by their indices.
  gaps: Vec<(u64, u64)>,
  frames: Vec<Heard>,
  newest: usize,
  previous: [f32; FRAME],
  frame: [f32; FRAME],
  shifter: Shifter,
}

impl FarEnd {
  /// Keeps the spectra of the last `frames` frames.
  pub(super) fn new(frames: usize) -> Self {
    let silent = Heard { spectrum: Spectrum::ZERO, power: [0.0; WIDTH], lost: false };
    Self {
      samples: Ring::new(KEPT),
      gaps: Vec::with_capacity(64),
      frames: vec![silent; frames],
      newest: 0,
      previous: [0.0; FRAME],
      frame: [0.0; FRAME],
      shifter: Shifter::new(),
    }
  }

  /// Samples that have been pushed or declared lost.
  pub(super) fn end(&self) -> u64 {
    self.samples.end()
  }

  pub(super) fn push(&mut self, samples: &[f32]) {
    if samples.iter().all(|sample| sample.abs() < LOUDEST) {
      self.samples.push(samples);
    } else {
      self.skip(samples.len() as u64, true);
    }
  }

  /// `count` samples follow that are silent, or `lost`: played, but unknown.
  pub(super) fn skip(&mut self, count: u64, lost: bool) {
    if lost {
      let start = self.samples.end();
      self.gaps.retain(|gap| gap.1 + KEPT as u64 > start);
      if self.gaps.len() == self.gaps.capacity() {
        self.gaps.remove(0);
      }
      self.gaps.push((start, start + count));
    }
    let silence = [0.0; FRAME];
    let mut left = count;
    while left > 0 {
      let now = left.min(FRAME as u64);
      self.samples.push(&silence[..now as usize]);
      left -= now;
    }
  }

  /// Takes in the frame that is played while the near end's frame from index `start` on is recorded.
  pub(super) fn advance(&mut self, start: u64, fft: &mut Fft) {
    let lost = self.is_lost(start);
    self.previous.copy_from_slice(&self.frame);
    self.shifter.read(&self.samples, start, &mut self.frame);
    self.newest = (self.newest + self.frames.len() - 1) % self.frames.len();
    let heard = &mut self.frames[self.newest];
    fft.forward(&self.previous, &self.frame, &mut heard.spectrum);
    heard.spectrum.power(&mut heard.power);
    smooth(&mut heard.power);
    heard.lost = lost;
  }

  fn is_lost(&self, start: u64) -> bool {
    let end = start + FRAME as u64;
    // Late samples are as good as lost; a far end that never began is silent.
    (end > self.samples.end() && self.samples.end() > 0)
      || self.gaps.iter().any(|gap| gap.0 < end && start.saturating_sub(FRAME as u64) < gap.1)
  }

  /// The newest frame's samples.
  pub(super) fn frame(&self) -> &[f32; FRAME] {
    &self.frame
  }

  /// The spectrum of the frame `age` frames ago and the one before it.
  pub(super) fn spectrum(&self, age: usize) -> &Spectrum {
    &self.at(age).spectrum
  }

  pub(super) fn power(&self, age: usize) -> &Bins {
    &self.at(age).power
  }

  /// Energy of the frame `age` frames ago and the one before it, a mean square.
  pub(super) fn level(&self, age: usize) -> f32 {
    let power: f32 = self.at(age).power[..BINS].iter().sum();
    power / (BINS * 2 * FRAME) as f32
  }

  /// Some of the frames from `age` on, `count` of them, is unknown.
  pub(super) fn any_lost(&self, age: usize, count: usize) -> bool {
    (age..age + count).any(|age| self.at(age).lost)
  }

  pub(super) fn shifter(&mut self) -> &mut Shifter {
    &mut self.shifter
  }

  fn at(&self, age: usize) -> &Heard {
    let index = self.newest + age.min(self.frames.len() - 1);
    &self.frames[index % self.frames.len()]
  }

  pub(super) fn reset(&mut self) {
    self.samples.reset();
    self.gaps.clear();
    for heard in &mut self.frames {
      (heard.spectrum, heard.power, heard.lost) = (Spectrum::ZERO, [0.0; WIDTH], false);
    }
    (self.previous, self.frame) = ([0.0; FRAME], [0.0; FRAME]);
    self.shifter.reset();
    self.newest = 0;
  }
}

/// Raises each frequency to the mean of its neighbours: between the harmonics of a voice a single one would say that nothing
/// is played.
fn smooth(power: &mut Bins) {
  let mut before = power[0];
  for bin in 1..BINS - 1 {
    let own = power[bin];
    power[bin] = own.max(0.25 * before + 0.5 * own + 0.25 * power[bin + 1]);
    before = own;
  }
}
