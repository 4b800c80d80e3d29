//! One sequence of the context: what its KV cache holds, also between requests.

use std::sync::Arc;

use super::super::queue::Rank;
use super::cells::Cells;
use crate::decoder::{KvMemory, SequenceId};
use crate::history::History;

/// The request that a sequence belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
  pub(super) rank: Rank,
  /// Cells of its whole history.
  pub(super) length: usize,
  /// Room for all of them is set aside.
  pub(super) resident: bool,
}

/// A sequence, with the history that its KV cache holds.
#[derive(Debug)]
pub(super) struct Sequence {
  id: SequenceId,
  /// A prefix of the history of the request that claims the sequence.
  cached: History,
  /// The cells of this history.
  cells: Cells,
  /// Other tokens came before these once, so that they serve no other request.
  private: bool,
  /// Conversation of the last request, while its tokens are here.
  pub(super) conversation: Option<Arc<str>>,
  /// Turn of the last request.
  pub(super) used: u64,
  pub(super) claim: Option<Claim>,
}

impl Sequence {
  pub(super) fn new(id: SequenceId) -> Self {
    Self {
      id,
      cached: History::default(),
      cells: Cells::new(id),
      private: false,
      conversation: None,
      used: 0,
      claim: None,
    }
  }

  pub(super) fn id(&self) -> SequenceId {
    self.id
  }

  pub(super) fn cached(&self) -> &History {
    &self.cached
  }

  pub(super) fn cells(&self) -> &Cells {
    &self.cells
  }

  pub(super) fn is_private(&self) -> bool {
    self.private
  }

  pub(super) fn is_free(&self) -> bool {
    self.claim.is_none()
  }

  pub(super) fn is_resident(&self) -> bool {
    self.claim.is_some_and(|claim| claim.resident)
  }

  /// Cells of the claiming request that are still to be evaluated.
  pub(super) fn tail(&self) -> usize {
    self.claim.map_or(0, |claim| claim.length.saturating_sub(self.cached.len_cells()))
  }

  /// Cells of the KV cache that are spoken for, shared ones included.
  pub(super) fn held(&self) -> usize {
    match self.claim {
      Some(claim) if claim.resident => claim.length,
      _ => self.cached.len_cells(),
    }
  }

  /// The KV cache has the first `length` cells of `history`, of which it had a part.
  pub(super) fn extend(&mut self, history: &History, length: usize) {
    let from = self.cached.len_cells();
    self.cached.append(history.after(from), length - from);
    self.cells.grow(self.cached.len_cells() - from);
  }

  /// Drops all but the first `length` cells; all when the memory cannot go back that far. The claim stays.
  pub(super) fn truncate<D: KvMemory>(&mut self, decoder: &mut D, length: usize) {
    let length = self.cached.floor(length);
    let kept = length > 0 && decoder.truncate(self.id, self.cached.position(length));
    if kept {
      return self.shorten(length);
    }
    decoder.truncate(self.id, 0);
    self.private = false;
    self.conversation = None;
    self.shorten(0);
  }

  /// Drops everything and gives the room to others.
  pub(super) fn evict<D: KvMemory>(&mut self, decoder: &mut D) {
    self.truncate(decoder, 0);
    if let Some(claim) = &mut self.claim {
      claim.resident = false;
    }
  }

  /// After an interrupted decode: finds out where the KV cache really ends. `cancelled`: its request will not go on.
  pub(super) fn resynchronise<D: KvMemory>(&mut self, decoder: &mut D, cancelled: bool) {
    let end = decoder.length(self.id);
    let length = self.cached.cells_before(end);
    if self.cached.position(length) == end {
      self.shorten(length);
    } else {
      // Drafted tokens that nothing has verified.
      self.truncate(decoder, length);
    }
    let Some(claim) = &mut self.claim else { return };
    // A snapshot may give back what was lost altogether.
    claim.resident &= !self.cached.is_empty();
    // Everything was evaluated, but an interrupted batch has no logits: the last token is evaluated once more.
    if claim.length == self.cached.len_cells() && !cancelled {
      self.truncate(decoder, self.cached.len_cells() - 1);
    }
  }

  /// Takes the cells `keep` to `end` out of the middle. Memory whose cells are shared, or cannot move, drops everything.
  pub(super) fn shift<D: KvMemory>(&mut self, decoder: &mut D, alone: bool, keep: usize, end: usize) {
    let (from, to) = (self.cached.position(keep), self.cached.position(end));
    if alone && decoder.shift(self.id, from, to - from) {
      self.cached.remove(keep..end);
      self.cells.cut(0);
      self.cells.grow(self.cached.len_cells());
      self.private = true;
    } else {
      // Moving shared cells would move them for others too: what stays is evaluated again.
      self.truncate(decoder, 0);
    }
  }

  /// Becomes the first `length` cells of `source`; stays empty when the memory cannot.
  pub(super) fn copy<D: KvMemory>(&mut self, decoder: &mut D, source: &mut Self, length: usize) {
    if decoder.copy(source.id, self.id, source.cached.position(length)) {
      self.cached.append(source.cached.after(0), length);
      self.cells.share(&mut source.cells, length);
    }
  }

  /// The KV cache has only the first `length` cells.
  fn shorten(&mut self, length: usize) {
    self.cached.truncate(length);
    self.cells.cut(length);
  }
}
