//! How requests come into slots: which is next, where its prompt goes, and who makes room.

use std::sync::Arc;

use super::Scheduler;
use super::requests::{Candidate, Running};
use crate::decoder::Decoder;
use crate::durable::Stored;
use crate::error::Result;
use crate::generate::{Event, FinishReason, Generation, Request, Sink, Start, guard};
use crate::grammar::Guard;

/// Tokens of an answer whose length is not known.
const USUAL_ANSWER: usize = 128;

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// Ends every request that was cancelled or waited too long. Returns whether any ended.
  pub(super) fn reap(&mut self) -> bool {
    let mut ended = self.queue.reap();
    for slot in self.requests.cancelled() {
      self.end(slot, FinishReason::Cancelled);
      ended = true;
    }
    for parked in self.requests.take_parked(|parked| parked.generation.cancel.is_cancelled()) {
      let (sink, finished) = parked.finish(FinishReason::Cancelled);
      self.endings.push(sink, Event::Done(finished));
      ended = true;
    }
    ended
  }

  /// Starts requests while there are sequences and room for them. Returns whether any started.
  pub(super) fn admit(&mut self) -> bool {
    let mut admitted = false;
    while let Some((candidate, ticket, need)) = self.requests.next(&self.queue) {
      let before = |slot: usize| {
        // Those that wait for their consumers give their room to others.
        self.requests.get(slot).is_some_and(|it| it.ticket.rank() < ticket.rank() && it.sink.ready())
      };
      if !self.cache.fits(need, before) {
        break;
      }
      if self.requests.running().count() == self.requests.slots() {
        let Some(slot) = self.requests.giving_way(&ticket) else { break };
        self.park(slot);
      }
      self.requests.overtake(&mut self.queue, &ticket);
      match candidate {
        Candidate::Waiting(index) => self.start(index),
        Candidate::Parked(index) => self.resume(index),
      }
      admitted = true;
    }
    admitted
  }

  /// Takes the request out of its slot. What it has evaluated stays there until another request needs the place.
  fn park(&mut self, slot: usize) {
    if let Some(turn) = self.requests.park(slot) {
      self.cache.release(slot, turn);
      self.endings.counters.pauses += 1;
    }
  }

  fn start(&mut self, index: usize) {
    let waiting = self.queue.waiting.remove(index);
    // What cannot be sampled must leave the slots as they are.
    let (sampler, guard) = match self.sampling(&waiting.request) {
      Ok(sampling) => sampling,
      Err(error) => return self.endings.push(waiting.sink, Event::Failed(error)),
    };
    let (options, prompt) = (&waiting.request.options, &waiting.request.prompt);
    let conversation = options.queue.conversation.as_deref().map(Arc::from);
    let state_ignored = match waiting.stored {
      Stored::Nothing => None,
      Stored::Ignored(reason) => Some(reason),
      Stored::Found(saved) => {
        let kept = self.cache.insert(&saved, conversation);
        (!kept).then(|| "the prefix cache has no room for it".to_owned())
      }
    };
    let (length, prewarm) = (prompt.len_cells(), options.queue.prewarm);
    // The last prompt token is always evaluated: its logits choose the first new token.
    let limit = if prewarm { length } else { length - 1 };
    let slot = self.cache.place(&mut self.decoder, prompt, limit);
    let cached = self.cache.cached(slot).len_cells();
    let answer = options.max_tokens.map_or(USUAL_ANSWER, |most| (most as usize).min(USUAL_ANSWER));
    self.cache.evict_idle(&mut self.decoder, slot, length - cached + answer);
    let checkpoints = self.cache.checkpoints(prompt, slot, prewarm);
    let seed = self.decoder.seed(&sampler);
    self.endings.counters.started += 1;
    let start = Start { cached, seed, clock: waiting.clock, state_ignored };
    let generation = Generation::new(waiting.request, sampler, start).constrained(&mut self.decoder, guard);
    let generation = match generation {
      Ok(generation) => generation,
      Err(error) => return self.endings.push(waiting.sink, Event::Failed(error)),
    };
    let speculating = self.speculation.begin(&self.decoder, generation.options.speculative);
    self.decoder.begin_drafts(self.cache.id(slot));
    let (sink, ticket) = (waiting.sink, waiting.ticket);
    self.cache.claim(slot, ticket.rank(), generation.history.len_cells());
    let running = Running { generation, sink, ticket, turn: 0, begun: false, checkpoints, speculating };
    self.requests.insert(slot, running);
    if prewarm && cached == limit {
      self.prewarmed(slot);
    }
  }

  /// What a request samples with.
  fn sampling(&self, request: &Request) -> Result<(D::Sampler, Option<Guard>)> {
    let options = &request.options;
    let sampler = self.decoder.sampler(options, &request.prompt.text())?;
    // What only prepares for others is not answered.
    let guard = if options.queue.prewarm { None } else { guard(&self.decoder, options)? };
    Ok((sampler, guard))
  }

  fn resume(&mut self, index: usize) {
    let mut running = self.requests.unpark(index);
    let history = &running.generation.history;
    let length = history.len_cells();
    let slot = self.cache.place(&mut self.decoder, history, length - 1);
    let cached = self.cache.cached(slot).len_cells();
    if running.begun {
      running.generation.cached_at_most(cached);
    } else {
      running.generation.found_cached(cached);
    }
    self.cache.claim(slot, running.ticket.rank(), length);
    self.requests.insert(slot, running);
  }

  /// The slots of `ready` (the most urgent request first) whose histories have room in the KV cache, after making that
  /// room.
  ///
  /// Never empty unless `ready` is: the first may take everything from all others.
  pub(super) fn make_room(&mut self, ready: &[usize]) -> Vec<usize> {
    let mut admitted = Vec::with_capacity(ready.len());
    for &slot in ready {
      let Some(reserved) = self.cache.reserve(&mut self.decoder, slot, ready) else { continue };
      for evicted in reserved.evicted {
        if let Some(running) = self.requests.get_mut(evicted) {
          running.generation.cached_at_most(0);
        }
      }
      if let Some(running) = self.requests.get_mut(slot).filter(|_| reserved.newly)
        && self.cache.refill(&mut self.decoder, slot, &running.generation.history)
        && !running.begun
      {
        running.generation.found_cached(self.cache.cached(slot).len_cells());
      }
      admitted.push(slot);
    }
    admitted
  }
}
