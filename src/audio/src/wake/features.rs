//! The part that all wake words share: sound in, one embedding every 80 ms.

use super::embedding::{Embedding, Layers, SIZE};
use super::mel::{self, BANDS, FRAMES, Filters, Mel};
use crate::error::{AudioError, Result};
use crate::nn::Level;
use crate::weights::Weights;
use std::sync::{Arc, OnceLock};

/// Samples of a chunk: 80 ms.
pub const CHUNK: usize = mel::CHUNK;
/// Samples a second.
pub const RATE: u32 = 16_000;
/// Numbers in an embedding.
pub const EMBEDDING: usize = SIZE;

/// Louder is clipped: full scale is 1, and the squares of what is far beyond would overflow.
const LOUDEST: f32 = 1e6;

struct Shared {
  filters: Arc<Filters>,
  layers: Arc<Layers>,
}

fn shared(level: Level) -> Result<&'static Shared> {
  static MADE: [OnceLock<Shared>; 3] = [const { OnceLock::new() }; 3];
  let made = &MADE[level as usize];
  if let Some(shared) = made.get() {
    return Ok(shared);
  }
  let weights = Weights::parse(include_bytes!("../../weights/speech-embedding.safetensors"))?;
  let (filters, layers) = (Arc::new(Filters::new(&weights)?), Arc::new(Layers::new(&weights, level)?));
  Ok(made.get_or_init(|| Shared { filters, layers }))
}

/// The features of one stream.
pub struct Features {
  level: Level,
  mel: Mel,
  embedding: Embedding,
  chunk: [f32; CHUNK],
  rows: [[f32; BANDS]; FRAMES],
}

impl Features {
  /// A new stream, computed with the best instructions of this processor.
  pub fn new() -> Result<Self> {
    Self::with_level(Level::best())
  }

  /// A new stream, computed with the instructions of `level`. Fails with `InvalidInput` where the processor lacks them.
  pub fn with_level(level: Level) -> Result<Self> {
    if !level.is_available() {
      return Err(AudioError::invalid(format!("this processor lacks {level:?}: use Level::best()")));
    }
    let shared = shared(level)?;
    let (mel, embedding) =
      (Mel::new(Arc::clone(&shared.filters)), Embedding::new(Arc::clone(&shared.layers)));
    Ok(Self { level, mel, embedding, chunk: [0.0; CHUNK], rows: [[1.0; BANDS]; FRAMES] })
  }

  /// The instructions that are used.
  pub fn level(&self) -> Level {
    self.level
  }

  /// The [`EMBEDDING`] of the last 775 ms, at the end of the next chunk of [`CHUNK`] samples at [`RATE`]. Fails with
  /// `InvalidInput` for another length or samples that are not finite; the stream is then as if the call had not been.
  pub fn push(&mut self, chunk: &[f32]) -> Result<&[f32]> {
    if chunk.len() != CHUNK {
      return Err(AudioError::invalid(format!("a chunk has {CHUNK} samples, this one {}", chunk.len())));
    }
    if chunk.iter().any(|sample| !sample.is_finite()) {
      return Err(AudioError::invalid("the chunk holds a sample that is not finite: leave it out"));
    }
    for (to, sample) in self.chunk.iter_mut().zip(chunk) {
      *to = sample.clamp(-LOUDEST, LOUDEST);
    }
    self.mel.push(&self.chunk, &mut self.rows);
    Ok(self.embedding.push(&self.rows))
  }

  /// Forgets all that was pushed.
  pub fn reset(&mut self) {
    self.mel.reset();
    self.embedding.reset();
    self.rows = [[1.0; BANDS]; FRAMES];
  }
}
