//! What a history is made of.

use std::num::NonZeroU32;

use crate::token::Token;

/// An image or a sound as a model sees it. Media with the same content take the same cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Media {
  /// Hash of the content, and of everything that changes its embeddings.
  pub id: [u64; 2],
  /// Cells of the KV cache that it takes.
  pub cells: NonZeroU32,
  /// Positions by which what follows comes later.
  pub positions: NonZeroU32,
}

impl Media {
  /// Cells that it takes.
  pub fn cells(&self) -> usize {
    self.cells.get() as usize
  }

  /// Positions that it takes.
  pub fn positions(&self) -> usize {
    self.positions.get() as usize
  }
}

/// A stretch of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
  /// Text tokens, at least one.
  Text(Vec<Token>),
  /// Media.
  Media(Media),
}

impl Span {
  /// Its cells and positions.
  pub(super) fn size(&self) -> (usize, usize) {
    match self {
      Self::Text(tokens) => (tokens.len(), tokens.len()),
      Self::Media(media) => (media.cells(), media.positions()),
    }
  }
}
