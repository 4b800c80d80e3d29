//! A stream of sound in chunks of any length: its windows, their probabilities, its segments and their sound.

use super::network::{Network, WINDOW};
use super::segment::{Change, SegmentRules, Segmenter};
use crate::error::{AudioError, Result};
use crate::frame::Framer;
use crate::ring::Ring;
use std::ops::Range;

/// What a stream tells, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
  /// A window of 512 samples was judged.
  Window {
    /// Its first sample.
    start: u64,
    /// Probability of speech, 0..=1.
    probability: f32,
  },
  /// What the segment rules say of it. The sound of a segment that ended is held until the next push.
  Change(Change),
}

/// Voice activity in one stream of 16 kHz mono sound.
pub struct Vad {
  network: Network,
  framer: Framer,
  segmenter: Segmenter,
  ring: Ring,
}

impl Vad {
  /// A new stream. Fails with `InvalidInput` for rules that contradict each other.
  pub fn new(network: Network, rules: SegmentRules) -> Result<Self> {
    let segmenter = Segmenter::new(rules)?;
    // The longest segment, and the window that shows that it is.
    let ring = Ring::new(rules.longest as usize + 2 * WINDOW);
    Ok(Self { network, framer: Framer::new(WINDOW), segmenter, ring })
  }

  /// Appends `samples` at 16 kHz and calls `each` with every event that they complete and with the sound held so far.
  /// Fails with `InvalidInput` if a sample is not finite; nothing of the chunk is then used.
  pub fn push(&mut self, samples: &[f32], mut each: impl FnMut(&Event, &Ring)) -> Result<()> {
    check_finite(samples)?;
    let Self { network, framer, segmenter, ring } = self;
    let mut failure = None;
    framer.push(samples, |start, window| {
      ring.push(window);
      match network.push(window) {
        Ok(probability) => {
          each(&Event::Window { start, probability }, ring);
          segmenter.push(probability, WINDOW as u64, |change| each(&Event::Change(change), ring));
        }
        Err(error) => failure = Some(error),
      }
    });
    failure.map_or(Ok(()), Err)
  }

  /// The stream ends: so does an open segment. What is left of a window is judged with silence behind it. Begins a new
  /// stream at index 0.
  pub fn finish(&mut self, mut each: impl FnMut(&Event, &Ring)) -> Result<()> {
    let pending = self.framer.pending().len();
    if pending > 0 {
      self.push(&[0.0; WINDOW][pending..], &mut each)?;
    }
    let Self { segmenter, ring, .. } = self;
    segmenter.finish(|change| each(&Event::Change(change), ring));
    self.reset();
    Ok(())
  }

  /// Forgets the stream so far.
  pub fn reset(&mut self) {
    self.network.reset();
    self.framer.reset();
    self.segmenter.reset();
    self.ring.reset();
  }

  /// Whether a segment is open.
  pub fn is_speaking(&self) -> bool {
    self.segmenter.is_speaking()
  }

  /// Samples pushed.
  pub fn position(&self) -> u64 {
    self.framer.position()
  }

  /// The sound of `range`, as far as it is held.
  pub fn sound(&self, range: Range<u64>) -> Vec<f32> {
    sound(&self.ring, range)
  }
}

/// The sound of `range` in `ring`; what is not held is silence.
pub(crate) fn sound(ring: &Ring, range: Range<u64>) -> Vec<f32> {
  let mut out = vec![0.0; (range.end - range.start) as usize];
  ring.read(range.start as i64, &mut out);
  out
}

/// Fails, with the place, if a sample is not a finite number.
pub(crate) fn check_finite(samples: &[f32]) -> Result<()> {
  match samples.iter().position(|sample| !sample.is_finite()) {
    None => Ok(()),
    Some(at) => {
      let value = samples[at];
      Err(AudioError::invalid(format!(
        "sample {at} of the chunk is {value}: leave the chunk out, or replace it by silence"
      )))
    }
  }
}
