//! From probabilities to segments: pure rules whose only clock is the count of samples.
//!
//! Speech begins with a window of at least `onset` and goes on through windows of at least `offset`. It becomes a segment
//! when it has lasted `min_speech`, and ends when nothing of it was heard for `hang_over`. A segment carries `pre_roll` of
//! sound before its first and `post_roll` after its last window of speech. One that would grow beyond `longest` is cut at
//! its quietest window in the second half, and the next begins right there.

use crate::error::{AudioError, Result};
use std::ops::Range;

/// Limits of segments; lengths in samples. The defaults of [`SegmentRules::new`] suit conversations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SegmentRules {
  /// Probability from which on speech begins, 0..=1. Default 0.5.
  pub onset: f32,
  /// Probability below which a window is silence, at most `onset`. Default 0.35.
  pub offset: f32,
  /// Speech that is shorter is dropped. Default 250 ms.
  pub min_speech: u64,
  /// Silence that ends a segment. Default 700 ms.
  pub hang_over: u64,
  /// Sound before the first window of speech. Default 300 ms.
  pub pre_roll: u64,
  /// Sound after the last window of speech, at most `hang_over`. Default 200 ms.
  pub post_roll: u64,
  /// Longest segment. Default 30 s.
  pub longest: u64,
}

impl SegmentRules {
  /// The defaults at `rate` samples a second.
  pub const fn new(rate: u32) -> Self {
    let ms = rate as u64 / 1000;
    Self {
      onset: 0.5,
      offset: 0.35,
      min_speech: 250 * ms,
      hang_over: 700 * ms,
      pre_roll: 300 * ms,
      post_roll: 200 * ms,
      longest: 30_000 * ms,
    }
  }

  fn validate(&self) -> Result<()> {
    let probability = 0.0..=1.0;
    if !probability.contains(&self.onset) || !probability.contains(&self.offset) || self.offset > self.onset {
      let (onset, offset) = (self.onset, self.offset);
      return Err(AudioError::invalid(format!(
        "onset {onset}, offset {offset}: give 0 <= offset <= onset <= 1"
      )));
    }
    if self.post_roll > self.hang_over {
      return Err(AudioError::invalid(
        "the post-roll is longer than the hang-over: it would not have been heard yet",
      ));
    }
    let least = 2 * (self.pre_roll + self.min_speech + self.hang_over);
    if self.longest < least {
      return Err(AudioError::invalid(format!(
        "the longest segment has {} samples: give at least {least}, twice pre-roll, minimum speech and hang-over",
        self.longest
      )));
    }
    Ok(())
  }
}

/// What became certain with a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
  /// A segment began: its sound from index `start` on. `speech` is where its speech begins.
  Started {
    /// First sample, pre-roll included.
    start: u64,
    /// First sample of the first window of speech.
    speech: u64,
  },
  /// The segment is complete.
  Ended {
    /// Its sound.
    sound: Range<u64>,
    /// From its first to its last window of speech.
    speech: Range<u64>,
    /// Whether it was cut because it grew too long; the next begins at its end.
    cut: bool,
  },
  /// What began as speech was too short.
  Dropped {
    /// From its first to its last window of speech.
    speech: Range<u64>,
  },
}

#[derive(Debug, Clone, Copy)]
struct Speech {
  /// First sample of its sound.
  start: u64,
  first: u64,
  last: u64,
  /// Samples in windows of speech.
  heard: u64,
  confirmed: bool,
  /// The least probable window since the middle of the longest length: its probability and its end.
  quietest: Option<(f32, u64)>,
}

/// The rules, and where a stream stands in them.
#[derive(Debug, Clone)]
pub struct Segmenter {
  rules: SegmentRules,
  now: u64,
  /// End of the last segment: the next one does not reach before it.
  free: u64,
  speech: Option<Speech>,
}

impl Segmenter {
  /// Fails with `InvalidInput` for rules that contradict each other.
  pub fn new(rules: SegmentRules) -> Result<Self> {
    rules.validate()?;
    Ok(Self { rules, now: 0, free: 0, speech: None })
  }

  /// The rules.
  pub fn rules(&self) -> &SegmentRules {
    &self.rules
  }

  /// First sample that a segment may still begin with, or has begun with: what lies before is no longer needed.
  pub fn needed_from(&self) -> u64 {
    self.speech.map_or(self.now.saturating_sub(self.rules.pre_roll).max(self.free), |speech| speech.start)
  }

  /// Whether a segment is open.
  pub fn is_speaking(&self) -> bool {
    self.speech.is_some_and(|speech| speech.confirmed)
  }

  /// The next `length` samples hold speech with `probability`. Calls `each` with what became certain, in order.
  pub fn push(&mut self, probability: f32, length: u64, mut each: impl FnMut(Change)) {
    let window = self.now..self.now + length;
    self.now = window.end;
    let Some(speech) = &mut self.speech else {
      if probability >= self.rules.onset {
        let start = window.start.saturating_sub(self.rules.pre_roll).max(self.free);
        let heard = length;
        let speech =
          Speech { start, first: window.start, last: window.end, heard, confirmed: false, quietest: None };
        self.speech = Some(speech);
        self.confirm(&mut each);
      }
      return;
    };
    if probability >= self.rules.offset {
      speech.last = window.end;
      speech.heard += length;
    }
    let since_middle = window.end >= speech.start + self.rules.longest / 2;
    if since_middle && speech.quietest.is_none_or(|(least, _)| probability <= least) {
      speech.quietest = Some((probability, window.end));
    }
    if self.now - speech.last >= self.rules.hang_over {
      self.end(&mut each);
    } else {
      self.confirm(&mut each);
      self.cut(&mut each);
    }
  }

  /// The stream ends here: so does an open segment.
  pub fn finish(&mut self, mut each: impl FnMut(Change)) {
    self.end(&mut each);
  }

  /// Forgets the stream so far.
  pub fn reset(&mut self) {
    (self.now, self.free, self.speech) = (0, 0, None);
  }

  fn confirm(&mut self, each: &mut impl FnMut(Change)) {
    if let Some(speech) = &mut self.speech
      && !speech.confirmed
      && speech.heard >= self.rules.min_speech
    {
      speech.confirmed = true;
      each(Change::Started { start: speech.start, speech: speech.first });
    }
  }

  fn end(&mut self, each: &mut impl FnMut(Change)) {
    let Some(speech) = self.speech.take() else { return };
    let heard = speech.first..speech.last;
    if !speech.confirmed {
      return each(Change::Dropped { speech: heard });
    }
    let end = (speech.last + self.rules.post_roll).min(self.now);
    self.free = end;
    each(Change::Ended { sound: speech.start..end, speech: heard, cut: false });
  }

  fn cut(&mut self, each: &mut impl FnMut(Change)) {
    let Some(speech) = self.speech else { return };
    if !speech.confirmed || self.now - speech.start < self.rules.longest {
      return;
    }
    let end = speech.quietest.map_or(self.now, |(_, end)| end);
    let heard = speech.first..speech.last.min(end);
    each(Change::Ended { sound: speech.start..end, speech: heard, cut: true });
    each(Change::Started { start: end, speech: end });
    let last = speech.last.max(end);
    self.speech =
      Some(Speech { start: end, first: end, last, heard: last - end, confirmed: true, quietest: None });
  }
}
