//! Sample rate conversion: a polyphase filter at the exact ratio of the two rates, for chunks of any length.
//!
//! A windowed sinc (Kaiser 1974) of linear phase whose delay is taken out: output sample `k` is the signal at the time
//! `k / to` seconds. Up to 0.45 of the smaller rate passes unchanged (within 0.01 dB); from half of it on nothing is left
//! (below -80 dB), so neither aliases nor images can be heard or learnt from.

mod filter;

use crate::dot::dot;
use crate::error::{AudioError, Result};
use filter::Filter;

/// Lowest and highest rate, in samples a second.
pub const RATES: std::ops::RangeInclusive<u32> = 4_000..=192_000;

/// Input samples that are handled at once.
const BLOCK: usize = 1024;

/// Converts one stream of mono samples from a rate to another.
#[derive(Debug, Clone)]
pub struct Resampler {
  from: u32,
  to: u32,
  /// None: the rates are equal, and samples pass as they are.
  filter: Option<Filter>,
  /// The last `taps - 1` samples, then the block at hand.
  window: Vec<f32>,
  /// Samples of the stream before `window`, plus the silence in front of it.
  passed: u64,
  taken: u64,
  given: u64,
}

impl Resampler {
  /// From `from` to `to` samples a second. Fails with `InvalidInput` for rates out of [`RATES`], or so unlike that the
  /// filter between them would need more than 2^20 coefficients.
  pub fn new(from: u32, to: u32) -> Result<Self> {
    for rate in [from, to] {
      if !RATES.contains(&rate) {
        let (low, high) = (RATES.start(), RATES.end());
        return Err(AudioError::invalid(format!("a sample rate of {rate} Hz: give one of {low} to {high}")));
      }
    }
    let filter = if from == to { None } else { Some(Filter::new(from, to)?) };
    let mut window = Vec::with_capacity(filter.as_ref().map_or(0, |filter| filter.taps() + BLOCK));
    window.resize(filter.as_ref().map_or(0, Filter::lead), 0.0);
    Ok(Self { from, to, filter, window, passed: 0, taken: 0, given: 0 })
  }

  /// The rate of what is pushed, in samples a second.
  pub fn from(&self) -> u32 {
    self.from
  }

  /// The rate of what comes out, in samples a second.
  pub fn to(&self) -> u32 {
    self.to
  }

  /// Input samples that must follow a sample before the output at its time is known.
  pub fn lookahead(&self) -> usize {
    self.filter.as_ref().map_or(0, Filter::lookahead)
  }

  /// The most samples that one push of `count` samples can append.
  pub fn most_output(&self, count: usize) -> usize {
    let (count, from, to) = (count as u64, u64::from(self.from), u64::from(self.to));
    ((count + self.lookahead() as u64) * to).div_ceil(from) as usize + 1
  }

  /// Appends to `out` what `samples` complete. Allocates only if `out` has no room for [`Self::most_output`].
  pub fn push(&mut self, samples: &[f32], out: &mut Vec<f32>) {
    self.taken += samples.len() as u64;
    match &self.filter {
      None => out.extend_from_slice(samples),
      Some(_) => self.convolve(samples, out, u64::MAX),
    }
  }

  /// Appends to `out` the rest of the stream, as if silence followed: in all `ceil(pushed * to / from)` samples have then
  /// come out. Begins a new stream.
  pub fn finish(&mut self, out: &mut Vec<f32>) {
    if self.filter.is_some() {
      let due = (self.taken * u64::from(self.to)).div_ceil(u64::from(self.from));
      let silence = [0.0; 64];
      while self.given < due {
        self.convolve(&silence, out, due);
      }
    }
    self.reset();
  }

  /// Forgets the stream so far.
  pub fn reset(&mut self) {
    let lead = self.filter.as_ref().map_or(0, Filter::lead);
    self.window.clear();
    self.window.resize(lead, 0.0);
    (self.passed, self.taken, self.given) = (0, 0, 0);
  }

  fn convolve(&mut self, samples: &[f32], out: &mut Vec<f32>, due: u64) {
    let Some(filter) = &self.filter else { return };
    for block in samples.chunks(BLOCK) {
      self.window.extend_from_slice(block);
      loop {
        let (first, phase) = filter.position(self.given);
        let at = (first - self.passed) as usize;
        let Some(under) = self.window.get(at..at + filter.taps()) else { break };
        if self.given == due {
          break;
        }
        out.push(dot(under, filter.phase(phase)));
        self.given += 1;
      }
      let (first, _) = filter.position(self.given);
      let done = ((first - self.passed) as usize).min(self.window.len());
      self.window.copy_within(done.., 0);
      self.window.truncate(self.window.len() - done);
      self.passed += done as u64;
    }
  }
}
