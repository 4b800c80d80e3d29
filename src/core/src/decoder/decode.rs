//! Evaluating batches.

use crate::error::{EngineError, ErrorCode, Result};
use crate::history::Media;
use crate::token::Token;

/// Index of one independent history inside a context, from 0.
pub type SequenceId = i32;

/// One token of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchToken {
  /// The token to evaluate.
  pub token: Token,
  /// Its position in the sequence, from 0.
  pub position: i32,
  /// The sequence it belongs to.
  pub sequence: SequenceId,
  /// Whether logits are wanted at this position.
  pub logits: bool,
}

/// Where media go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaPlace {
  /// The media to evaluate.
  pub media: Media,
  /// Their first position in the sequence, from 0.
  pub position: i32,
  /// The sequence they belong to.
  pub sequence: SequenceId,
}

/// How a decode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
  /// Everything is in the KV cache.
  Complete,
  /// The interrupt was seen; only the micro-batches before it are in the KV cache.
  Interrupted,
}

/// Evaluates tokens and media.
pub trait Decode {
  /// Most tokens one `decode` takes.
  fn batch_size(&self) -> usize;

  /// Cells (of prompts and completions) that all sequences hold together; one alone may use them all.
  fn context_size(&self) -> usize;

  /// Evaluates `batch`, in which the tokens of a sequence follow each other. `interrupt` is polled while it runs.
  fn decode(&mut self, batch: &[BatchToken], interrupt: &dyn Fn() -> bool) -> Result<Decoded>;

  /// Evaluates media as a whole; interrupted, the sequence has nothing of them. By default no media can be evaluated.
  fn decode_media(&mut self, place: MediaPlace, interrupt: &dyn Fn() -> bool) -> Result<Decoded> {
    let _ = (place, interrupt);
    Err(EngineError::new(
      ErrorCode::Unsupported,
      "this context evaluates text only: send a prompt without media",
    ))
  }
}
