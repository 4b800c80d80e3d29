//! Which phrase was said, and when: heads over the last embeddings, with thresholds and a time of rest.

use super::features::{CHUNK, EMBEDDING, Features};
use super::head::Head;
use crate::error::{AudioError, Result};
use crate::frame::Framer;
use crate::vad::check_finite;

/// A phrase to listen for.
pub struct Phrase {
  /// The network that scores it.
  pub head: Head,
  /// Score from which on it counts as said, above 0 and at most 1. 0.5 is usual.
  pub threshold: f32,
  /// Least time from one detection to the next, in samples. One second is usual.
  pub refractory: u64,
}

/// A phrase was said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detection {
  /// Its index in the list of phrases.
  pub phrase: usize,
  /// The score, 0..=1.
  pub score: f32,
  /// End of the chunk that decided, in samples of the stream.
  pub position: u64,
}

struct Listening {
  phrase: Phrase,
  /// The score fell below the threshold since the last detection.
  armed: bool,
  last: Option<u64>,
  score: f32,
}

/// Listens for several phrases in one stream of 16 kHz mono sound.
pub struct WakeWords {
  features: Features,
  framer: Framer,
  /// The last embeddings, the newest at the end.
  recent: Vec<f32>,
  chunks: usize,
  phrases: Vec<Listening>,
}

impl WakeWords {
  /// A new stream. Fails with `InvalidInput` without phrases, or for a threshold out of range.
  pub fn new(features: Features, phrases: Vec<Phrase>) -> Result<Self> {
    if phrases.is_empty() {
      return Err(AudioError::invalid("no phrase to listen for: give at least one head"));
    }
    if let Some(wrong) = phrases.iter().find(|phrase| !(phrase.threshold > 0.0 && phrase.threshold <= 1.0)) {
      return Err(AudioError::invalid(format!(
        "a threshold of {}: give one above 0, at most 1",
        wrong.threshold
      )));
    }
    let most = phrases.iter().map(|phrase| phrase.head.embeddings()).max().unwrap_or(1);
    let phrases = phrases.into_iter().map(|phrase| Listening { phrase, armed: true, last: None, score: 0.0 });
    let recent = vec![0.0; most * EMBEDDING];
    Ok(Self { features, framer: Framer::new(CHUNK), recent, chunks: 0, phrases: phrases.collect() })
  }

  /// Appends `samples` at 16 kHz and calls `each` with every detection. No phrase is scored before its head has as many
  /// embeddings of the stream as it looks at. Fails with `InvalidInput` if a sample is not finite; nothing of the chunk is
  /// then used.
  pub fn push(&mut self, samples: &[f32], mut each: impl FnMut(Detection)) -> Result<()> {
    check_finite(samples)?;
    let Self { features, framer, recent, chunks, phrases } = self;
    let mut failure = None;
    framer.push(samples, |start, chunk| match features.push(chunk) {
      Err(error) => failure = Some(error),
      Ok(embedding) => {
        recent.copy_within(EMBEDDING.., 0);
        let at = recent.len() - EMBEDDING;
        recent[at..].copy_from_slice(embedding);
        *chunks += 1;
        let position = start + CHUNK as u64;
        for (index, listening) in phrases.iter_mut().enumerate() {
          if *chunks >= listening.phrase.head.embeddings()
            && let Some(score) = listening.score(recent, position)
          {
            each(Detection { phrase: index, score, position });
          }
        }
      }
    });
    failure.map_or(Ok(()), Err)
  }

  /// The last score of each phrase, 0..=1, in the order of the list.
  pub fn scores(&self) -> impl Iterator<Item = f32> {
    self.phrases.iter().map(|listening| listening.score)
  }

  /// Samples pushed.
  pub fn position(&self) -> u64 {
    self.framer.position()
  }

  /// Forgets the stream so far.
  pub fn reset(&mut self) {
    self.features.reset();
    self.framer.reset();
    self.recent.fill(0.0);
    self.chunks = 0;
    for listening in &mut self.phrases {
      (listening.armed, listening.last, listening.score) = (true, None, 0.0);
    }
  }
}

impl Listening {
  /// The score if it is a new detection.
  fn score(&mut self, recent: &[f32], position: u64) -> Option<f32> {
    let length = self.phrase.head.embeddings() * EMBEDDING;
    self.score = self.phrase.head.score(&recent[recent.len() - length..]);
    let is_over = self.score >= self.phrase.threshold;
    let rested = self.last.is_none_or(|last| position - last >= self.phrase.refractory);
    if is_over && self.armed && rested {
      (self.armed, self.last) = (false, Some(position));
      return Some(self.score);
    }
    if !is_over {
      self.armed = true;
    }
    None
  }
}
