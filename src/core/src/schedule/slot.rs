//! One sequence of the context and the request that runs in it.

use crate::decoder::{BatchToken, Decoder, SequenceId, Token};
use crate::error::EngineError;
use crate::generate::{Event, FinishReason, Generation, Sink};

/// A request in a slot.
pub(super) struct Running<S, K> {
  pub(super) generation: Generation<S>,
  pub(super) sink: K,
  /// Place in the order of submission.
  pub(super) order: u64,
  /// When it last had a share in a batch, counted in shares; before the first, when it started.
  pub(super) turn: u64,
  /// Room for its whole history is set aside in the KV cache.
  pub(super) resident: bool,
}

/// A sequence, with the tokens that its KV cache holds, also between requests.
pub(super) struct Slot<S, K> {
  pub(super) sequence: SequenceId,
  /// A prefix of the running request's history.
  pub(super) cached: Vec<Token>,
  /// Turn of the last request.
  pub(super) used: u64,
  pub(super) running: Option<Running<S, K>>,
}

impl<S, K: Sink> Slot<S, K> {
  pub(super) fn new(sequence: SequenceId) -> Self {
    Self { sequence, cached: Vec::new(), used: 0, running: None }
  }

  /// Tokens of the running request; 0 without one.
  pub(super) fn history(&self) -> usize {
    self.running.as_ref().map_or(0, |running| running.generation.history.len())
  }

  /// Tokens that are still to be evaluated before the next one can be sampled.
  pub(super) fn tail(&self) -> usize {
    self.history() - self.cached.len().min(self.history())
  }

  /// Cells of the KV cache that are spoken for.
  pub(super) fn held(&self) -> usize {
    let resident = self.running.as_ref().is_some_and(|running| running.resident);
    if resident { self.history() } else { self.cached.len() }
  }

  /// Adds the next `count` tokens of the history to `batch`. Returns whether these are the last ones, after which a
  /// token is sampled.
  pub(super) fn push(&mut self, count: usize, batch: &mut Vec<BatchToken>) -> bool {
    let Some(running) = &self.running else { return false };
    let history = &running.generation.history;
    let from = self.cached.len();
    let to = history.len().min(from + count);
    for (index, &token) in history.iter().enumerate().take(to).skip(from) {
      let position = i32::try_from(index).unwrap_or(i32::MAX);
      let logits = index + 1 == history.len();
      batch.push(BatchToken { token, position, sequence: self.sequence, logits });
    }
    self.cached.extend_from_slice(&history[from..to]);
    from < to && to == history.len()
  }

  /// Cuts the KV cache to the first `length` tokens; to none when its memory cannot go back that far.
  pub(super) fn rewind<D: Decoder>(&mut self, decoder: &mut D, length: usize) {
    if length > 0 && decoder.rewind(self.sequence, length) {
      self.cached.truncate(length);
    } else {
      decoder.clear(self.sequence);
      self.cached.clear();
    }
    self.tell_length();
  }

  /// Empties the KV cache and gives its room to others.
  pub(super) fn strip<D: Decoder>(&mut self, decoder: &mut D) {
    self.rewind(decoder, 0);
    if let Some(running) = &mut self.running {
      running.resident = false;
    }
  }

  /// After an interrupted decode: takes up the sequence where its KV cache really ends.
  pub(super) fn resynchronise<D: Decoder>(&mut self, decoder: &mut D) {
    self.cached.truncate(decoder.length(self.sequence));
    self.tell_length();
    let Some(running) = &self.running else { return };
    // Everything was evaluated, but an interrupted batch has no logits: the last token is evaluated once more.
    if self.tail() == 0 && !running.generation.cancel.is_cancelled() {
      self.rewind(decoder, self.cached.len() - 1);
    }
  }

  fn tell_length(&mut self) {
    let length = self.cached.len();
    if let Some(running) = &mut self.running {
      running.generation.lose_cache(length);
    }
  }

  /// Ends the running request.
  pub(super) fn end(&mut self, reason: FinishReason) {
    if let Some(Running { generation, mut sink, turn, .. }) = self.running.take() {
      self.used = turn;
      let (piece, finished) = generation.finish(reason);
      if !piece.text.is_empty() || !piece.reasoning.is_empty() {
        sink.send(Event::Piece(piece));
      }
      sink.send(Event::Done(finished));
    }
  }

  /// Ends the running request with `error`.
  pub(super) fn fail(&mut self, error: &EngineError) {
    if let Some(mut running) = self.running.take() {
      self.used = running.turn;
      running.sink.send(Event::Failed(error.clone()));
    }
  }
}
