//! Which waiting request starts next.

use super::Scheduler;
use super::queue::Ticket;
use super::slot::Running;
use crate::cancel::CancelToken;
use crate::decoder::Decoder;
use crate::durable::Stored;
use crate::generate::{Event, FinishReason, Generation, Sink, Start, guard};
use crate::prefix::Label;

/// Tokens of an answer whose length is not known.
const USUAL_ANSWER: usize = 128;

/// A request that could start.
#[derive(Clone, Copy)]
enum Candidate {
  /// Place among the waiting ones.
  Waiting(usize),
  /// Place among the parked ones.
  Parked(usize),
}

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// Ends every request that was cancelled or waited too long. Returns whether any ended.
  pub(super) fn reap(&mut self) -> bool {
    let mut ended = self.queue.reap();
    for index in 0..self.slots.len() {
      if self.slots[index].running.as_ref().is_some_and(|running| running.generation.cancel.is_cancelled()) {
        self.end(index, FinishReason::Cancelled);
        ended = true;
      }
    }
    let cancelled =
      |running: &mut Running<D::Sampler, K>| CancelToken::is_cancelled(&running.generation.cancel);
    for parked in self.parked.extract_if(.., cancelled) {
      let (sink, finished) = parked.finish(FinishReason::Cancelled);
      self.endings.push((sink, Event::Done(finished)));
      ended = true;
    }
    ended
  }

  /// Starts requests while there are sequences and room for them. Returns whether any started.
  pub(super) fn admit(&mut self) -> bool {
    let mut admitted = false;
    while let Some((candidate, ticket, need)) = self.next() {
      if !self.fits(need, ticket.rank()) {
        break;
      }
      if self.slots.iter().all(|slot| slot.running.is_some()) {
        let Some(slot) = self.giving_way(&ticket) else { break };
        self.park(slot);
      }
      self.overtake(&ticket);
      match candidate {
        Candidate::Waiting(index) => self.start(index),
        Candidate::Parked(index) => self.resume(index),
      }
      admitted = true;
    }
    admitted
  }

  /// The most urgent request that could start, and its tokens.
  fn next(&self) -> Option<(Candidate, Ticket, usize)> {
    let waiting = self.queue.waiting.iter().enumerate();
    let waiting = waiting.map(|(index, it)| (Candidate::Waiting(index), it.ticket, it.request.prompt.len()));
    let parked = self.parked.iter().enumerate().filter(|(_, it)| it.sink.ready());
    let parked = parked.map(|(index, it)| (Candidate::Parked(index), it.ticket, it.generation.history.len()));
    waiting.chain(parked).min_by_key(|(_, ticket, _)| ticket.rank())
  }

  /// The running request that gives its sequence to a waiting one: the last whose consumer does not read, or else the
  /// last background request if the waiting one is of another lane.
  fn giving_way(&self, ticket: &Ticket) -> Option<usize> {
    let running =
      || self.slots.iter().enumerate().filter_map(|(index, slot)| Some((index, slot.running.as_ref()?)));
    let blocked = running().filter(|(_, it)| !it.sink.ready());
    let yielding = running().filter(|(_, it)| it.ticket.yields_to(ticket));
    let last = blocked.max_by_key(|(_, it)| it.ticket.rank());
    last.or_else(|| yielding.max_by_key(|(_, it)| it.ticket.rank())).map(|(index, _)| index)
  }

  /// Takes the request out of its slot. What it has evaluated stays there until another request needs the place.
  fn park(&mut self, slot: usize) {
    let slot = &mut self.slots[slot];
    if let Some(mut running) = slot.running.take() {
      slot.used = running.turn;
      running.resident = false;
      self.parked.push(running);
      self.counters.pauses += 1;
    }
  }

  /// Notes for every older request that this one goes before it.
  fn overtake(&mut self, started: &Ticket) {
    let waiting = self.queue.waiting.iter_mut().map(|it| &mut it.ticket);
    let others = waiting.chain(self.parked.iter_mut().map(|it| &mut it.ticket));
    for ticket in others.filter(|ticket| ticket.order < started.order) {
      ticket.overtaken += 1;
    }
  }

  fn start(&mut self, index: usize) {
    let waiting = self.queue.waiting.remove(index);
    let options = &waiting.request.options;
    let prompt = &waiting.request.prompt;
    // A sampler that cannot be created must leave the slots as they are.
    let sampler = match self.decoder.sampler(options, prompt) {
      Ok(sampler) => sampler,
      Err(error) => return self.endings.push((waiting.sink, Event::Failed(error))),
    };
    // What only prepares for others is not answered.
    let guard = if options.queue.prewarm { Ok(None) } else { guard(&self.decoder, options) };
    let guard = match guard {
      Ok(guard) => guard,
      Err(error) => return self.endings.push((waiting.sink, Event::Failed(error))),
    };
    let conversation = options.queue.conversation.as_deref().map(std::sync::Arc::from);
    let state_ignored = match waiting.stored {
      Stored::Nothing => None,
      Stored::Ignored(reason) => Some(reason),
      Stored::Found(saved) => {
        let label = Label { pinned: false, conversation };
        let kept = self.store.insert(&saved.tokens, saved.state, label);
        (!kept).then(|| "the prefix cache has no room for it".to_owned())
      }
    };
    let prewarm = options.queue.prewarm;
    // The last prompt token is always evaluated: its logits choose the first new token.
    let limit = if prewarm { prompt.len() } else { prompt.len() - 1 };
    let slot = self.place(prompt, limit);
    let cached = self.slots[slot].cached.len();
    let answer = options.max_tokens.map_or(USUAL_ANSWER, |most| (most as usize).min(USUAL_ANSWER));
    if prompt.len() - cached + answer >= self.long_request {
      self.set_aside(slot);
    }
    let checkpoints = self.checkpoints(prompt, slot, prewarm);
    let seed = self.decoder.seed(&sampler);
    self.counters.started += 1;
    let start = Start { cached, seed, clock: waiting.clock, state_ignored };
    let generation = Generation::new(waiting.request, sampler, start).constrained(&mut self.decoder, guard);
    let generation = match generation {
      Ok(generation) => generation,
      Err(error) => return self.endings.push((waiting.sink, Event::Failed(error))),
    };
    let speculating = self.speculating(generation.options.speculative);
    let Self { slots, turns, decoder, .. } = self;
    decoder.begin_drafts(slots[slot].sequence);
    slots[slot].running = Some(Running {
      generation,
      sink: waiting.sink,
      ticket: waiting.ticket,
      turn: *turns,
      resident: false,
      begun: false,
      checkpoints,
      speculating,
    });
    if prewarm && cached == limit {
      self.prewarmed(slot);
    }
  }

  fn resume(&mut self, index: usize) {
    let mut running = self.parked.remove(index);
    let history = std::mem::take(&mut running.generation.history);
    let slot = self.place(&history, history.len() - 1);
    running.generation.history = history;
    running.turn = self.turns;
    let cached = self.slots[slot].cached.len();
    if running.begun {
      running.generation.lose_cache(cached);
    } else {
      running.generation.gain_cache(cached);
    }
    self.slots[slot].running = Some(running);
  }
}
