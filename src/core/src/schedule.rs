//! Which request is decoded next. One scheduler owns one context; requests wait in the order they came.

mod batch;
mod room;
mod slot;

use std::cmp::Reverse;
use std::collections::VecDeque;

use crate::cancel::CancelToken;
use crate::decoder::{BatchToken, Decoded, Decoder, Token};
use crate::error::{EngineError, ErrorCode, Result};
use crate::generate::{Event, FinishReason, Finished, Generation, Request, Sink, check_prompt};
use crate::stats::{Stopwatch, Usage};
use batch::Row;
use slot::{Running, Slot};

/// What a call of [`Scheduler::tick`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
  /// Tokens were decoded or requests ended: call again.
  Worked,
  /// Every running request waits for its consumer: call again when one has read.
  Blocked,
  /// Nothing to do until a request comes.
  Idle,
}

struct Waiting<K> {
  request: Request,
  sink: K,
  order: u64,
  clock: Stopwatch,
}

/// Runs requests over the sequences of one decoder.
///
/// A request's events depend on the request alone, not on what runs beside it. Between requests each sequence keeps its
/// tokens in the KV cache, so that a prompt that begins like an earlier one needs less evaluation.
pub struct Scheduler<D: Decoder, K: Sink> {
  decoder: D,
  waiting: VecDeque<Waiting<K>>,
  slots: Vec<Slot<D::Sampler, K>>,
  batch: Vec<BatchToken>,
  submitted: u64,
  /// Shares of batches that were given out.
  turns: u64,
}

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// A scheduler over sequences 0 to `parallel` - 1 of `decoder`, which share its context.
  pub fn new(decoder: D, parallel: u32) -> Self {
    let slots = (0..parallel.max(1)).map(|sequence| Slot::new(sequence.cast_signed())).collect();
    Self { decoder, waiting: VecDeque::new(), slots, batch: Vec::new(), submitted: 0, turns: 0 }
  }

  /// Takes a request; its events go to `sink`.
  ///
  /// A prompt that cannot be decoded fails at once: `INVALID_INPUT` when it is empty, `CONTEXT_OVERFLOW` when the context
  /// has no room for it and one more token.
  pub fn submit(&mut self, request: Request, mut sink: K) {
    if let Err(error) = check_prompt(&request.prompt, self.decoder.context_size()) {
      return sink.send(Event::Failed(error));
    }
    self.submitted += 1;
    let waiting = Waiting { request, sink, order: self.submitted, clock: Stopwatch::new() };
    self.waiting.push_back(waiting);
  }

  /// Requests that have not ended.
  pub fn load(&self) -> usize {
    self.waiting.len() + self.slots.iter().filter(|slot| slot.running.is_some()).count()
  }

  /// Ends every request with `error`.
  pub fn fail_all(&mut self, error: &EngineError) {
    for mut waiting in self.waiting.drain(..) {
      waiting.sink.send(Event::Failed(error.clone()));
    }
    for slot in &mut self.slots {
      slot.fail(error);
    }
  }

  /// Does one step: ends what was cancelled, starts what waits, decodes one batch, samples from it.
  pub fn tick(&mut self) -> Activity {
    let mut worked = self.reap_cancelled();
    worked |= self.admit();
    let ready = self.ready();
    let admitted = self.make_room(&ready);
    let rows = self.fill_batch(&admitted);
    if self.batch.is_empty() {
      return match (worked, self.load()) {
        (true, _) => Activity::Worked,
        (false, 0) => Activity::Idle,
        (false, _) => Activity::Blocked,
      };
    }
    match self.decode() {
      Ok(Decoded::Complete) => self.sample(&rows),
      Ok(Decoded::Interrupted) => {
        for slot in in_batch(&mut self.slots, &self.batch) {
          slot.resynchronise(&mut self.decoder);
        }
      }
      Err(error) => {
        for slot in in_batch(&mut self.slots, &self.batch) {
          slot.fail(&error);
          slot.strip(&mut self.decoder);
        }
      }
    }
    Activity::Worked
  }

  fn reap_cancelled(&mut self) -> bool {
    let before = self.load();
    self.waiting.retain_mut(|waiting| {
      let cancelled = waiting.request.cancel.is_cancelled();
      if cancelled {
        let mut usage = Usage { prompt_tokens: waiting.request.prompt.len(), ..Usage::default() };
        waiting.clock.write(&mut usage);
        waiting.sink.send(Event::Done(Finished { reason: FinishReason::Cancelled, stop: None, usage }));
      }
      !cancelled
    });
    for slot in &mut self.slots {
      if slot.running.as_ref().is_some_and(|running| running.generation.cancel.is_cancelled()) {
        slot.end(FinishReason::Cancelled);
      }
    }
    self.load() != before
  }

  fn admit(&mut self) -> bool {
    let mut admitted = false;
    while self.slots.iter().any(|slot| slot.running.is_none()) {
      let Some(waiting) = self.waiting.pop_front() else { break };
      self.start(waiting);
      admitted = true;
    }
    admitted
  }

  fn start(&mut self, mut waiting: Waiting<K>) {
    let prompt = &waiting.request.prompt;
    // A sampler that cannot be created must leave the slot as it is.
    let sampler = match self.decoder.sampler(&waiting.request.options, prompt) {
      Ok(sampler) => sampler,
      Err(error) => return waiting.sink.send(Event::Failed(error)),
    };
    // Reversed, because of equals the last is taken: sequence 0 first.
    let free = self.slots.iter_mut().rev().filter(|slot| slot.running.is_none());
    let Some(slot) = free.max_by_key(|slot| suitability(slot, prompt)) else { return };
    // The last prompt token is always evaluated: its logits choose the first new token.
    let shared = common_prefix(&slot.cached, prompt).min(prompt.len() - 1);
    slot.rewind(&mut self.decoder, shared);
    let seed = self.decoder.seed(&sampler);
    let generation = Generation::new(waiting.request, sampler, slot.cached.len(), seed, waiting.clock);
    slot.running = Some(Running {
      generation,
      sink: waiting.sink,
      order: waiting.order,
      turn: self.turns,
      resident: false,
    });
  }

  /// Decodes the batch; the cancel flag of any request in it interrupts.
  fn decode(&mut self) -> Result<Decoded> {
    let cancels: Vec<_> = in_batch(&mut self.slots, &self.batch)
      .filter_map(|slot| slot.running.as_ref().map(|running| running.generation.cancel.clone()))
      .collect();
    let interrupt = || cancels.iter().any(CancelToken::is_cancelled);
    self.decoder.decode(&self.batch, &interrupt)
  }

  fn sample(&mut self, rows: &[Row]) {
    for row in rows {
      let slot = &mut self.slots[row.slot];
      let Some(running) = slot.running.as_mut() else { continue };
      match running.generation.step(&mut self.decoder, row.index) {
        Ok(step) => {
          running.sink.send(Event::Piece(step.piece));
          if let Some(reason) = step.finish {
            slot.end(reason);
          }
        }
        Err(error) => slot.fail(&error),
      }
    }
  }
}

/// The slots that have tokens in `batch`.
fn in_batch<'a, S, K>(
  slots: &'a mut [Slot<S, K>],
  batch: &'a [BatchToken],
) -> impl Iterator<Item = &'a mut Slot<S, K>> {
  slots.iter_mut().filter(|slot| batch.iter().any(|token| token.sequence == slot.sequence))
}

/// How well a free slot suits a prompt: by the tokens that need no evaluation, then by how long it was not used.
///
/// A short common beginning (every prompt has the same first token) is not worth another conversation's cache, so it
/// counts only when it is half of the prompt or of what the slot holds.
fn suitability<S, K>(slot: &Slot<S, K>, prompt: &[Token]) -> (usize, Reverse<u64>) {
  let shared = common_prefix(&slot.cached, prompt);
  let worthwhile = 2 * shared >= prompt.len().min(slot.cached.len());
  (if worthwhile { shared } else { 0 }, Reverse(slot.used))
}

fn common_prefix(a: &[Token], b: &[Token]) -> usize {
  a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The error that ends the requests of a context that is being closed.
pub fn closed() -> EngineError {
  EngineError::new(ErrorCode::Closed, "the context was closed while the request was running")
}
