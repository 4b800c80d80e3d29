//! Which request is decoded next. One scheduler owns one context.
//!
//! Every decode is at most one micro-batch: a token of each stream, then prefill. Waiting requests start by lane, then by
//! age; a request that was overtaken often enough counts as one of the lane above, so that none starves. A background
//! request gives its sequence to one of another lane and goes on from where it was.

mod batch;
mod decode;
mod draft;
mod endings;
mod finish;
mod kv_cache;
mod queue;
mod requests;
mod settings;
mod speculation;
mod start;

use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::decoder::Decoder;
use crate::durable::Save;
use crate::error::{EngineError, ErrorCode};
use crate::generate::{Event, Sink};
use crate::options::Lane;
use crate::speculate::Kind;
use crate::stats::Metrics;
use batch::Batch;
use endings::Endings;
use kv_cache::KvCache;
use queue::Queue;
pub use queue::{Arrival, PATIENCE};
use requests::Requests;
pub use settings::Settings;
use speculation::Speculation;

/// What a call of [`Scheduler::step`] did.
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

/// Runs requests over the sequences of one decoder.
///
/// A request's events depend on the request alone, not on what runs beside it. Between requests each sequence keeps its
/// tokens in the KV cache, so that a prompt that begins like an earlier one needs less evaluation.
pub struct Scheduler<D: Decoder, K: Sink> {
  decoder: D,
  queue: Queue<K>,
  requests: Requests<D::Sampler, K>,
  cache: KvCache,
  batch: Batch,
  speculation: Speculation,
  endings: Endings<K>,
  durable: bool,
  saves: Vec<Save>,
}

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// A scheduler over sequences 0 to `parallel` - 1 of `decoder`, which share its context.
  pub fn new(decoder: D, settings: &Settings) -> Self {
    Self {
      queue: Queue::new(settings, decoder.context_size(), decoder.can_shift()),
      requests: Requests::new(settings.parallel),
      cache: KvCache::new(settings, &decoder),
      batch: Batch::default(),
      speculation: Speculation::new(settings.speculation, settings.ngram),
      endings: Endings::new(decoder.context_size()),
      durable: settings.durable,
      saves: Vec::new(),
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
    self.queue.waiting.len() + self.requests.parked() + self.requests.running().count()
  }

  /// Where drafts come from, if anything is drafted.
  pub fn drafts_from(&self) -> Option<Kind> {
    self.speculation.drafts_from(&self.decoder)
  }

  /// When a waiting request will have waited too long.
  pub fn deadline(&self) -> Option<Instant> {
    self.queue.deadline()
  }

  /// The numbers of this moment.
  pub fn metrics(&self) -> Metrics {
    let (cache_entries, cache_bytes) = self.cache.snapshots();
    Metrics {
      running: self.requests.running().count(),
      waiting: Lane::ALL.map(|lane| self.queue.waiting_in(lane)),
      paused: self.requests.parked(),
      context_used: self.cache.used(),
      context_size: self.decoder.context_size(),
      cache_entries,
      cache_bytes,
      refused: self.queue.refused,
      timed_out: self.queue.timed_out,
      ..self.endings.counters
    }
  }

  /// The numbers after the last step, for other threads. They include every request that ran and whose end was told.
  pub fn published(&self) -> Arc<Mutex<Metrics>> {
    self.endings.published()
  }

  fn conclude(&mut self) {
    let metrics = self.metrics();
    self.endings.conclude(metrics);
  }

  /// Snapshots to be stored that were made since the last call.
  pub fn take_saves(&mut self) -> Vec<Save> {
    std::mem::take(&mut self.saves)
  }

  /// Conversations of which nothing is in memory any more, since the last call.
  pub fn take_lost(&mut self) -> Vec<Arc<str>> {
    self.cache.take_lost()
  }

  /// Ends every request with `error`.
  pub fn fail_all(&mut self, error: &EngineError) {
    for mut waiting in self.queue.waiting.drain(..) {
      waiting.sink.send(Event::Failed(error.clone()));
    }
    for mut parked in self.requests.take_parked(|_| true) {
      parked.sink.send(Event::Failed(error.clone()));
    }
    for slot in 0..self.requests.slots() {
      self.fail(slot, error);
    }
    self.conclude();
  }

  /// Ends what was cancelled, starts what waits, decodes one batch, samples from it.
  pub fn step(&mut self) -> Activity {
    self.step_with(&mut || None)
  }

  /// As [`step`](Self::step), taking what `arrivals` gives; it is asked throughout the step, also while tokens are
  /// decoded. A waiting request that was cancelled therefore ends at once.
  pub fn step_with(&mut self, arrivals: &mut dyn FnMut() -> Option<Arrival<K>>) -> Activity {
    let activity = self.work(arrivals);
    self.conclude();
    activity
  }

  fn work(&mut self, arrivals: &mut dyn FnMut() -> Option<Arrival<K>>) -> Activity {
    while let Some(arrival) = arrivals() {
      self.queue.submit(arrival);
    }
    let mut worked = self.reap();
    worked |= self.admit();
    let ready = self.requests.ready();
    let mut admitted = self.make_room(&ready);
    let media = self.take_media(&mut admitted);
    let mut rows = self.fill_batch(&admitted);
    if self.batch.tokens().is_empty() && media.is_none() {
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
    if !self.batch.tokens().is_empty() {
      self.decode_batch(&mut rows, arrivals);
    }
    if let Some((slot, place)) = media {
      self.decode_media(slot, place, arrivals);
    }
    Activity::Worked
  }
}

/// The error that ends the requests of a context that is being closed.
pub fn closed() -> EngineError {
  EngineError::new(ErrorCode::Closed, "the context was closed while the request was running")
}
