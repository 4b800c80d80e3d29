//! How a request drafts, a row of the batch, and what was drafted to follow it.

use crate::decoder::{Drafted, SequenceId, Token};
use crate::speculate::{Beside, Choice, NgramDrafter, Window};

/// How a running request chooses its drafts.
#[derive(Debug)]
pub(super) struct Speculating {
  pub(super) window: Window,
  pub(super) ngram: Option<NgramDrafter>,
  pub(super) choice: Choice,
  pub(super) beside: Beside,
}

/// Row of the batch whose logits belong to the request in a slot.
pub(super) struct Row {
  pub(super) slot: usize,
  pub(super) index: usize,
  /// What was drafted to follow it.
  pub(super) draft: Draft,
}

/// A draft in the batch.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
  pub(super) tokens: Vec<Token>,
  /// Row of the first one.
  pub(super) first: usize,
  /// Drafted to be compared only: not in the batch.
  pub(super) probe: bool,
  /// Drawn at the request's temperature.
  pub(super) drawn: bool,
  /// Tokens that the drafter had to read for it.
  pub(super) unread: usize,
}

impl Draft {
  /// The drafted token that is in the batch at place `index`, if there is one.
  pub(super) fn token(&self, index: usize) -> Option<Token> {
    self.in_batch().get(index).copied()
  }

  /// What was drawn to stand at place `index` in `sequence`, in the batch or not.
  pub(super) fn drawn(&self, sequence: SequenceId, index: usize) -> Option<Drafted> {
    let token = self.tokens.get(index).copied().filter(|_| self.drawn)?;
    Some(Drafted { sequence, place: index, token })
  }

  /// Row of the token at place `index`.
  pub(super) fn row(&self, index: usize) -> usize {
    self.first + index
  }

  /// The tokens that are in the batch.
  pub(super) fn in_batch(&self) -> &[Token] {
    if self.probe { &[] } else { &self.tokens }
  }
}
