//! What follows a decode: sampled tokens, ends, and what stays of them.

use std::sync::Arc;

use super::Scheduler;
use super::draft::Row;
use super::speculation::Verdict;
use crate::decoder::Decoder;
use crate::durable::Save;
use crate::error::{EngineError, ErrorCode, Result};
use crate::generate::{Event, FinishReason, Progress, Sink, context_full};
use crate::options::ContextFull;

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// Samples after each row.
  pub(super) fn sample(&mut self, rows: &[Row]) {
    for row in rows {
      let Some(running) = self.requests.get(row.slot) else { continue };
      if running.generation.options.queue.prewarm {
        self.prewarmed(row.slot);
        continue;
      }
      match self.sample_row(row) {
        Ok(progress) => {
          if let Some(reason) = progress.finish {
            self.end(row.slot, reason);
          } else if progress.full {
            self.full(row.slot);
          }
        }
        Err(error) => {
          self.fail(row.slot, &error);
          // A draft may be in its sequence.
          let length = self.cache.cached(row.slot).len_cells();
          self.cache.truncate(&mut self.decoder, row.slot, length);
        }
      }
    }
  }

  /// Samples after a row, and after those of its draft as far as what is sampled was drafted. Sends the text.
  fn sample_row(&mut self, row: &Row) -> Result<Progress> {
    let Self { requests, decoder, cache, speculation, endings, .. } = self;
    let sequence = cache.id(row.slot);
    let Some(running) = requests.get_mut(row.slot) else {
      return Err(EngineError::new(ErrorCode::Internal, "a row of the batch belongs to no request"));
    };
    let generation = &mut running.generation;
    let base = generation.history.len_cells();
    let (mut accepted, mut last) = (0, row.index);
    let mut progress = generation.advance(decoder, last, row.draft.drawn(sequence, 0))?;
    let before_last = loop {
      let evaluated = base + accepted;
      let history = &generation.history;
      while row.draft.token(accepted).is_some_and(|token| history.token(base + accepted) == Some(token)) {
        accepted += 1;
      }
      if progress.finish.is_some() || progress.full || base + accepted < history.len_cells() {
        break evaluated;
      }
      last = row.draft.row(accepted - 1);
      let next = generation.advance(decoder, last, row.draft.drawn(sequence, accepted))?;
      progress.piece.append(next.piece);
      progress = Progress { piece: progress.piece, ..next };
    };
    let drafted = row.draft.in_batch().len();
    endings.counters.completion_tokens += u64::from(progress.piece.tokens);
    endings.counters.drafted_tokens += drafted as u64;
    endings.counters.accepted_tokens += accepted as u64;
    running.sink.send(Event::Piece(std::mem::take(&mut progress.piece)));
    cache.resize(row.slot, generation.history.len_cells());
    cache.extend(row.slot, &generation.history, base + accepted);
    let verdict = Verdict { accepted, base, ended: progress.finish.is_some() };
    speculation.settle(running.speculating.as_mut(), generation, row, &verdict);
    if accepted < drafted {
      cache.truncate(decoder, row.slot, base + accepted);
    }
    decoder.observe(sequence, last, generation.history.position(before_last));
    Ok(progress)
  }

  /// The newest token of a request has no room in the context.
  fn full(&mut self, slot: usize) {
    let Some(running) = self.requests.get(slot) else { return };
    let size = self.decoder.context_size();
    match running.generation.options.queue.context_full {
      ContextFull::Stop => self.end(slot, FinishReason::Context),
      ContextFull::Error => {
        let error = context_full(running.generation.history.len_cells(), size);
        self.fail(slot, &error);
      }
      ContextFull::Shift { keep } => self.shift(slot, keep as usize),
    }
  }

  /// Forgets the older half of the cells after the first `keep`. Media go as a whole.
  fn shift(&mut self, slot: usize, keep: usize) {
    let Some(running) = self.requests.get_mut(slot) else { return };
    let size = self.decoder.context_size();
    let history = &mut running.generation.history;
    let keep = history.floor(keep.min(size / 2));
    let end = history.ceil(keep + (size - keep).div_ceil(2));
    self.cache.shift(&mut self.decoder, slot, keep, end);
    history.remove(keep..end);
    self.cache.resize(slot, history.len_cells());
  }

  /// The prompt of a request that only prepares for others is in the cache.
  pub(super) fn prewarmed(&mut self, slot: usize) {
    self.cache.pin(&mut self.decoder, slot);
    self.end(slot, FinishReason::Length);
  }

  /// Ends the request in a slot. Its tokens stay for later ones, and those of a conversation are handed out.
  pub(super) fn end(&mut self, slot: usize, reason: FinishReason) {
    let Some(running) = self.requests.remove(slot) else { return };
    self.cache.release(slot, running.turn);
    let conversation = running.generation.options.queue.conversation.as_deref().map(Arc::<str>::from);
    let (sink, finished) = running.finish(reason);
    self.endings.finished(sink, finished);
    let saved = self.cache.end(&mut self.decoder, slot, conversation.as_ref(), self.durable);
    if let (Some(conversation), Some(saved)) = (conversation, saved) {
      self.saves.push(Save { conversation, saved });
    }
  }

  /// Ends the request in a slot with `error`.
  pub(super) fn fail(&mut self, slot: usize, error: &EngineError) {
    if let Some(running) = self.requests.remove(slot) {
      self.cache.release(slot, running.turn);
      self.endings.push(running.sink, Event::Failed(error.clone()));
    }
  }

  /// Takes the snapshots that are due after a decode.
  pub(super) fn checkpoint(&mut self) {
    for slot in 0..self.requests.slots() {
      let length = self.cache.cached(slot).len_cells();
      let Some(running) = self.requests.get_mut(slot) else { continue };
      let due = running.checkpoints.contains(&length);
      running.checkpoints.retain(|&at| at > length);
      if due {
        self.cache.checkpoint(&mut self.decoder, slot);
      }
    }
  }
}
