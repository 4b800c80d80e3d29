//! One sequence of the context and the request that runs in it.

use std::sync::Arc;

use super::cells::Cells;
use super::queue::Ticket;
use super::speculation::Speculating;
use crate::decoder::{BatchToken, Decoder, SequenceId, Token};
use crate::error::EngineError;
use crate::generate::{Event, Generation, Sink};

/// A request in a slot.
pub(super) struct Running<S, K> {
  pub(super) generation: Generation<S>,
  pub(super) sink: K,
  /// Its claim to a place.
  pub(super) ticket: Ticket,
  /// When it last had a share in a batch, counted in shares; before the first, when it started.
  pub(super) turn: u64,
  /// Room for its whole history is set aside in the KV cache.
  pub(super) resident: bool,
  /// Tokens of it were evaluated.
  pub(super) begun: bool,
  /// Lengths of the history at which a snapshot is taken, the shortest first.
  pub(super) checkpoints: Vec<usize>,
  /// Choice of its drafts, if it has any.
  pub(super) speculating: Option<Speculating>,
}

/// A sequence, with the tokens that its KV cache holds, also between requests.
pub(super) struct Slot<S, K> {
  pub(super) sequence: SequenceId,
  /// A prefix of the running request's history.
  pub(super) cached: Vec<Token>,
  /// The cells of these tokens.
  pub(super) cells: Cells,
  /// Other tokens came before these once, so that they serve no other request.
  pub(super) private: bool,
  /// Conversation of the last request, while its tokens are here.
  pub(super) conversation: Option<Arc<str>>,
  /// Turn of the last request.
  pub(super) used: u64,
  pub(super) running: Option<Running<S, K>>,
}

impl<S, K: Sink> Slot<S, K> {
  pub(super) fn new(sequence: SequenceId) -> Self {
    Self {
      sequence,
      cached: Vec::new(),
      cells: Cells::new(sequence),
      private: false,
      conversation: None,
      used: 0,
      running: None,
    }
  }

  /// Tokens of the running request; 0 without one.
  pub(super) fn history(&self) -> usize {
    self.running.as_ref().map_or(0, |running| running.generation.history.len())
  }

  /// Tokens that are still to be evaluated before the next one can be sampled.
  pub(super) fn tail(&self) -> usize {
    self.history() - self.cached.len().min(self.history())
  }

  pub(super) fn resident(&self) -> bool {
    self.running.as_ref().is_some_and(|running| running.resident)
  }

  /// Cells of the KV cache that are spoken for, shared ones included.
  pub(super) fn held(&self) -> usize {
    if self.resident() { self.history() } else { self.cached.len() }
  }

  /// Adds the next `count` tokens of the history to `batch`, fewer if a snapshot is to be taken before. Returns whether
  /// these are the last ones, after which a token is sampled.
  pub(super) fn push(&mut self, count: usize, batch: &mut Vec<BatchToken>) -> bool {
    let Some(running) = &mut self.running else { return false };
    let history = &running.generation.history;
    let from = self.cached.len();
    let border = running.checkpoints.iter().copied().find(|&at| at > from).unwrap_or(history.len());
    let to = history.len().min(from + count).min(border);
    for (index, &token) in history.iter().enumerate().take(to).skip(from) {
      let position = i32::try_from(index).unwrap_or(i32::MAX);
      let logits = index + 1 == history.len();
      batch.push(BatchToken { token, position, sequence: self.sequence, logits });
    }
    self.cached.extend_from_slice(&history[from..to]);
    self.cells.grow(to - from);
    running.begun |= from < to;
    from < to && to == history.len()
  }

  /// Cuts the KV cache to the first `length` tokens; to none when its memory cannot go back that far.
  pub(super) fn rewind<D: Decoder>(&mut self, decoder: &mut D, length: usize) {
    if length > 0 && decoder.rewind(self.sequence, length) {
      self.keep(length);
    } else {
      self.clear(decoder);
    }
  }

  /// Empties the KV cache.
  pub(super) fn clear<D: Decoder>(&mut self, decoder: &mut D) {
    decoder.clear(self.sequence);
    self.private = false;
    self.conversation = None;
    self.keep(0);
  }

  /// Empties the KV cache and gives its room to others.
  pub(super) fn strip<D: Decoder>(&mut self, decoder: &mut D) {
    self.clear(decoder);
    if let Some(running) = &mut self.running {
      running.resident = false;
    }
  }

  /// After an interrupted decode: takes up the sequence where its KV cache really ends.
  pub(super) fn resynchronise<D: Decoder>(&mut self, decoder: &mut D) {
    let length = decoder.length(self.sequence);
    if length > self.cached.len() {
      // Drafted tokens that nothing has verified.
      self.rewind(decoder, self.cached.len());
    } else {
      self.keep(length);
    }
    let Some(running) = &mut self.running else { return };
    // A snapshot may give back what was lost altogether.
    running.resident &= !self.cached.is_empty();
    // Everything was evaluated, but an interrupted batch has no logits: the last token is evaluated once more.
    let evaluated = running.generation.history.len() == self.cached.len();
    if evaluated && !running.generation.cancel.is_cancelled() {
      self.rewind(decoder, self.cached.len() - 1);
    }
  }

  /// The KV cache has only the first `length` of the tokens.
  fn keep(&mut self, length: usize) {
    self.cached.truncate(length);
    self.cells.cut(length);
    if let Some(running) = &mut self.running {
      running.generation.lose_cache(self.cached.len());
    }
  }

  /// Ends the running request with `error`. Returns its last word, which is still to be said.
  #[must_use]
  pub(super) fn fail(&mut self, error: &EngineError) -> Option<(K, Event)> {
    let running = self.running.take()?;
    self.used = running.turn;
    Some((running.sink, Event::Failed(error.clone())))
  }
}
