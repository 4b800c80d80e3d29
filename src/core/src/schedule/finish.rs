//! What follows a decode: sampled tokens, ends, and what stays of them.

use std::sync::Arc;

use super::Scheduler;
use super::batch::Row;
use super::slot::Running;
use crate::decoder::Decoder;
use crate::durable::{Save, Saved};
use crate::error::{EngineError, ErrorCode, Result};
use crate::generate::{Event, FinishReason, Finished, Sink, Step, context_full};
use crate::options::ContextFull;
use crate::prefix::Label;

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  pub(super) fn sample(&mut self, rows: &[Row]) {
    for row in rows {
      let Some(running) = &self.slots[row.slot].running else { continue };
      if running.generation.options.queue.prewarm {
        self.prewarmed(row.slot);
        continue;
      }
      match self.advance(row) {
        Ok(step) => {
          if let Some(reason) = step.finish {
            self.end(row.slot, reason);
          } else if step.full {
            self.full(row.slot);
          }
        }
        Err(error) => {
          let slot = &mut self.slots[row.slot];
          self.endings.extend(slot.fail(&error));
          // A draft may be in its sequence.
          let length = slot.cached.len();
          slot.rewind(&mut self.decoder, length);
        }
      }
    }
  }

  /// Samples after a row, and after those of its draft as far as what is sampled was drafted. Sends the text.
  fn advance(&mut self, row: &Row) -> Result<Step> {
    let Self { slots, decoder, counters, .. } = self;
    let slot = &mut slots[row.slot];
    let sequence = slot.sequence;
    let Some(running) = slot.running.as_mut() else {
      return Err(EngineError::new(ErrorCode::Internal, "a row of the batch belongs to no request"));
    };
    let base = running.generation.history.len();
    let (mut accepted, mut last) = (0, row.index);
    let mut step = running.generation.step(decoder, last, row.draft.drawn(sequence, 0))?;
    let before_last = loop {
      let evaluated = base + accepted;
      let history = &running.generation.history;
      while row.draft.token(accepted).is_some_and(|token| history.get(base + accepted) == Some(&token)) {
        accepted += 1;
      }
      if step.finish.is_some() || step.full || base + accepted < history.len() {
        break evaluated;
      }
      last = row.draft.row(accepted - 1);
      let next = running.generation.step(decoder, last, row.draft.drawn(sequence, accepted))?;
      step.piece.append(next.piece);
      step = Step { piece: step.piece, ..next };
    };
    counters.completion_tokens += u64::from(step.piece.tokens);
    running.sink.send(Event::Piece(std::mem::take(&mut step.piece)));
    let ended = step.finish.is_some();
    self.settle(row, accepted, last, before_last, ended);
    Ok(step)
  }

  /// The newest token of a request has no room in the context.
  fn full(&mut self, index: usize) {
    let slot = &mut self.slots[index];
    let Some(running) = &slot.running else { return };
    let size = self.decoder.context_size();
    match running.generation.options.queue.context_full {
      ContextFull::Stop => self.end(index, FinishReason::Context),
      ContextFull::Error => {
        let error = context_full(running.generation.history.len(), size);
        self.endings.extend(slot.fail(&error));
      }
      ContextFull::Shift { keep } => self.shift(index, keep as usize),
    }
  }

  /// Forgets the older half of the tokens after the first `keep`.
  fn shift(&mut self, index: usize, keep: usize) {
    let size = self.decoder.context_size();
    let keep = keep.min(size / 2);
    let discard = (size - keep).div_ceil(2);
    let others = self.slots.iter().enumerate().filter(|&(other, _)| other != index);
    let alone = others.into_iter().all(|(_, other)| !other.cells.overlaps(&self.slots[index].cells));
    let slot = &mut self.slots[index];
    if alone && self.decoder.shift(slot.sequence, keep, discard) {
      slot.cached.drain(keep..keep + discard);
      slot.cells.cut(0);
      slot.cells.grow(slot.cached.len());
      slot.private = true;
    } else {
      // Moving shared cells would move them for others too: what stays is evaluated again.
      slot.clear(&mut self.decoder);
    }
    if let Some(running) = &mut slot.running {
      running.generation.forget(keep, discard);
    }
  }

  /// The prompt of a request that only prepares for others is in the cache.
  pub(super) fn prewarmed(&mut self, index: usize) {
    let label = Label { pinned: true, conversation: None };
    if !self.store.pin(&self.slots[index].cached) {
      self.snapshot(index, label);
    }
    self.end(index, FinishReason::Length);
  }

  /// Ends the request in a slot. Its tokens stay for later ones, and those of a conversation are handed out.
  pub(super) fn end(&mut self, index: usize, reason: FinishReason) {
    let slot = &mut self.slots[index];
    let Some(running) = slot.running.take() else { return };
    slot.used = running.turn;
    let conversation = running.generation.options.queue.conversation.as_deref().map(Arc::<str>::from);
    let (sink, finished) = running.finish(reason);
    self.counters.prompt_tokens += finished.usage.prompt_tokens as u64;
    self.counters.cached_prompt_tokens += finished.usage.cached_prompt_tokens as u64;
    self.counters.hits += u64::from(finished.usage.cached_prompt_tokens > 0);
    self.endings.push((sink, Event::Done(finished)));
    if slot.private {
      return slot.clear(&mut self.decoder);
    }
    let Some(conversation) = conversation else { return };
    slot.conversation = Some(Arc::clone(&conversation));
    if !self.durable || slot.cached.is_empty() {
      return;
    }
    let Some(state) = self.decoder.snapshot(slot.sequence).map(Arc::new) else { return };
    let saved = Saved { tokens: slot.cached.clone(), state: Arc::clone(&state) };
    // It is there anyway: the slot needs no snapshot when it is overwritten.
    self.store.insert(
      &slot.cached,
      state,
      Label { pinned: false, conversation: Some(Arc::clone(&conversation)) },
    );
    self.saves.push(Save { conversation, saved });
  }
}

impl<S, K: Sink> Running<S, K> {
  /// Sends the rest of the text. Returns the last word, which is still to be said.
  pub(super) fn finish(self, reason: FinishReason) -> (K, Finished) {
    let Self { generation, mut sink, .. } = self;
    let (piece, finished) = generation.finish(reason);
    if !piece.text.is_empty() || !piece.reasoning.is_empty() {
      sink.send(Event::Piece(piece));
    }
    (sink, finished)
  }
}
