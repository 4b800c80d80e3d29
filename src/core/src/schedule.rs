//! Which request is decoded next. One scheduler owns one context.
//!
//! Every decode is at most one micro-batch: a token of each stream, then prefill. Waiting requests start by lane, then by
//! age; a request that was overtaken often enough counts as one of the lane above, so that none starves. A background
//! request gives its sequence to one of another lane and goes on from where it was.

mod admit;
mod batch;
mod cells;
mod finish;
mod queue;
mod reuse;
mod room;
mod settings;
mod slot;
mod speculation;

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::cancel::CancelToken;
use crate::decoder::{BatchToken, Decoded, Decoder};
use crate::durable::{Save, Stored};
use crate::error::{EngineError, ErrorCode, Result};
use crate::generate::{Event, Request, Sink};
use crate::options::Lane;
use crate::prefix::PrefixStore;
use crate::stats::Metrics;
pub use queue::PATIENCE;
use queue::Queue;
pub use settings::Settings;
use slot::{Running, Slot};
use speculation::Speculation;

/// What a call of [`Scheduler::tick`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
  /// Tokens were decoded or requests ended: call again.
  Worked,
  /// Every request that could run waits for its consumer: call again when one has read, or at the
  /// [`deadline`](Scheduler::deadline).
  Blocked,
  /// Nothing to do until a request comes.
  Idle,
}

/// A request that comes in.
pub struct Arrival<K> {
  /// The request; its options are validated.
  pub request: Request,
  /// Where its events go.
  pub sink: K,
  /// What was found of its conversation.
  pub stored: Stored,
}

impl<K> Arrival<K> {
  /// A request without a stored conversation.
  pub fn new(request: Request, sink: K) -> Self {
    Self { request, sink, stored: Stored::Nothing }
  }
}

/// Runs requests over the sequences of one decoder.
///
/// A request's events depend on the request alone, not on what runs beside it. Between requests each sequence keeps its
/// tokens in the KV cache, so that a prompt that begins like an earlier one needs less evaluation.
pub struct Scheduler<D: Decoder, K: Sink> {
  decoder: D,
  queue: Queue<K>,
  /// Requests that gave their sequence away.
  parked: Vec<Running<D::Sampler, K>>,
  slots: Vec<Slot<D::Sampler, K>>,
  batch: Vec<BatchToken>,
  store: PrefixStore,
  long_request: usize,
  durable: bool,
  saves: Vec<Save>,
  lost: Vec<Arc<str>>,
  /// Shares of batches that were given out.
  turns: u64,
  counters: Metrics,
  /// What others see of the numbers.
  published: Arc<Mutex<Metrics>>,
  /// Requests that ended, with their last words. These are said once the published numbers include them.
  endings: Vec<(K, Event)>,
  speculation: Speculation,
}

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// A scheduler over sequences 0 to `parallel` - 1 of `decoder`, which share its context.
  pub fn new(decoder: D, settings: &Settings) -> Self {
    let slots = (0..settings.parallel.max(1)).map(|sequence| Slot::new(sequence.cast_signed())).collect();
    Self {
      queue: Queue::new(settings, decoder.context_size(), decoder.can_shift()),
      parked: Vec::new(),
      slots,
      batch: Vec::new(),
      store: PrefixStore::new(settings.cache_bytes, decoder.reach()),
      long_request: settings.long_request,
      durable: settings.durable,
      saves: Vec::new(),
      lost: Vec::new(),
      turns: 0,
      counters: Metrics::default(),
      published: Arc::new(Mutex::new(Metrics { context_size: decoder.context_size(), ..Metrics::default() })),
      endings: Vec::new(),
      speculation: Speculation::new(settings.speculation, settings.ngram),
      decoder,
    }
  }

  /// Takes a request.
  ///
  /// What cannot run fails at once: `INVALID_INPUT` for an empty prompt, `CONTEXT_OVERFLOW` when the context has no room
  /// for the prompt and one more token, `UNSUPPORTED` for a shift that the memory cannot do, `QUEUE_FULL`.
  pub fn submit(&mut self, arrival: Arrival<K>) {
    self.queue.submit(arrival);
  }

  /// Requests that have not ended.
  pub fn load(&self) -> usize {
    self.queue.waiting.len() + self.parked.len() + self.running()
  }

  fn running(&self) -> usize {
    self.slots.iter().filter(|slot| slot.running.is_some()).count()
  }

  /// When a waiting request will have waited too long.
  pub fn deadline(&self) -> Option<Instant> {
    self.queue.deadline()
  }

  /// The numbers of this moment.
  pub fn metrics(&self) -> Metrics {
    Metrics {
      running: self.running(),
      waiting: Lane::ALL.map(|lane| self.queue.waiting_in(lane)),
      paused: self.parked.len(),
      context_used: cells::distinct(self.slots.iter().map(|slot| &slot.cells)),
      context_size: self.decoder.context_size(),
      cache_entries: self.store.len(),
      cache_bytes: self.store.bytes(),
      refused: self.queue.refused,
      timed_out: self.queue.timed_out,
      ..self.counters
    }
  }

  /// The numbers after the last step, for other threads. They include every request that ran and whose end was told.
  pub fn published(&self) -> Arc<Mutex<Metrics>> {
    Arc::clone(&self.published)
  }

  /// Publishes the numbers, then tells who ended.
  fn conclude(&mut self) {
    *self.published.lock().unwrap_or_else(PoisonError::into_inner) = self.metrics();
    for (mut sink, last) in self.endings.drain(..) {
      sink.send(last);
    }
  }

  /// Snapshots to be stored that were made since the last call.
  pub fn take_saves(&mut self) -> Vec<Save> {
    std::mem::take(&mut self.saves)
  }

  /// Conversations of which nothing is in memory any more, since the last call.
  pub fn take_lost(&mut self) -> Vec<Arc<str>> {
    self.lost.append(&mut self.store.take_lost());
    std::mem::take(&mut self.lost)
  }

  /// Ends every request with `error`.
  pub fn fail_all(&mut self, error: &EngineError) {
    for mut waiting in self.queue.waiting.drain(..) {
      waiting.sink.send(Event::Failed(error.clone()));
    }
    for mut parked in self.parked.drain(..) {
      parked.sink.send(Event::Failed(error.clone()));
    }
    for slot in &mut self.slots {
      self.endings.extend(slot.fail(error));
    }
    self.conclude();
  }

  /// Does one step: ends what was cancelled, starts what waits, decodes one batch, samples from it.
  pub fn tick(&mut self) -> Activity {
    self.tick_with(&mut || None)
  }

  /// As [`tick`](Self::tick), taking what `arrivals` gives; it is asked throughout the step, also while tokens are
  /// decoded. A waiting request that was cancelled therefore ends at once.
  pub fn tick_with(&mut self, arrivals: &mut dyn FnMut() -> Option<Arrival<K>>) -> Activity {
    let activity = self.step(arrivals);
    self.conclude();
    activity
  }

  fn step(&mut self, arrivals: &mut dyn FnMut() -> Option<Arrival<K>>) -> Activity {
    while let Some(arrival) = arrivals() {
      self.queue.submit(arrival);
    }
    let mut worked = self.reap();
    worked |= self.admit();
    let ready = self.ready();
    let admitted = self.make_room(&ready);
    let mut rows = self.fill_batch(&admitted);
    if self.batch.is_empty() {
      return match (worked, self.load()) {
        (true, _) => Activity::Worked,
        (false, 0) => Activity::Idle,
        (false, _) => Activity::Blocked,
      };
    }
    // A decode takes a while: who ended before it need not wait.
    if !self.endings.is_empty() {
      self.conclude();
    }
    self.add_drafts(&mut rows);
    let started = Instant::now();
    let outcome = self.decode(arrivals);
    self.timed(started.elapsed(), matches!(outcome, Ok(Decoded::Complete)));
    match outcome {
      Ok(Decoded::Complete) => {
        // The tokens first: a snapshot takes a while.
        self.sample(&rows);
        self.conclude();
        self.checkpoint();
      }
      Ok(Decoded::Interrupted) => {
        for slot in in_batch(&mut self.slots, &self.batch) {
          slot.resynchronise(&mut self.decoder);
        }
      }
      Err(error) => {
        for slot in in_batch(&mut self.slots, &self.batch) {
          self.endings.extend(slot.fail(&error));
          slot.clear(&mut self.decoder);
        }
      }
    }
    Activity::Worked
  }

  /// Decodes the batch; the cancel flag of any request in it interrupts.
  fn decode(&mut self, arrivals: &mut dyn FnMut() -> Option<Arrival<K>>) -> Result<Decoded> {
    let cancels: Vec<_> = in_batch(&mut self.slots, &self.batch)
      .filter_map(|slot| slot.running.as_ref().map(|running| running.generation.cancel.clone()))
      .collect();
    let queue = RefCell::new((&mut self.queue, arrivals));
    let interrupt = || {
      let (queue, arrivals) = &mut *queue.borrow_mut();
      while let Some(arrival) = arrivals() {
        queue.submit(arrival);
      }
      queue.reap();
      cancels.iter().any(CancelToken::is_cancelled)
    };
    self.decoder.decode(&self.batch, &interrupt)
  }
}

/// The slots that have tokens in `batch`.
fn in_batch<'a, S, K>(
  slots: &'a mut [Slot<S, K>],
  batch: &'a [BatchToken],
) -> impl Iterator<Item = &'a mut Slot<S, K>> {
  slots.iter_mut().filter(|slot| batch.iter().any(|token| token.sequence == slot.sequence))
}

/// The error that ends the requests of a context that is being closed.
pub fn closed() -> EngineError {
  EngineError::new(ErrorCode::Closed, "the context was closed while the request was running")
}
