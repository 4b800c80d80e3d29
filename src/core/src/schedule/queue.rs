//! Requests that have not started: their order, limits and ends.

use std::time::{Duration, Instant};

use super::settings::Settings;
use crate::durable::Stored;
use crate::error::{EngineError, ErrorCode};
use crate::generate::{Event, FinishReason, Finished, Request, Sink, check_request};
use crate::options::Lane;
use crate::stats::{Stopwatch, Usage};

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

/// A request counts as one of the lane above after this many younger ones were started before it, and so on.
///
/// So it is overtaken at most `2 * PATIENCE` times whatever comes: no lane starves.
pub const PATIENCE: usize = 16;

/// How urgent a request is: its lane, and its place in the order of submission. The smaller goes first.
pub(super) type Rank = (Lane, u64);

/// A request's claim to a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket {
  /// Place in the order of submission.
  pub(super) order: u64,
  /// The lane that was asked for.
  pub(super) lane: Lane,
  /// Younger requests that were started before it.
  pub(super) overtaken: usize,
}

impl Ticket {
  /// The lane it counts as.
  pub(super) fn lane(&self) -> Lane {
    self.lane.raised(self.overtaken / PATIENCE)
  }

  /// The smaller goes first: by lane, then by age.
  pub(super) fn rank(&self) -> Rank {
    (self.lane(), self.order)
  }

  /// Whether it gives its sequence to `other`, which waits.
  pub(super) fn yields_to(&self, other: &Self) -> bool {
    self.lane() == Lane::Background && other.lane != Lane::Background && other.rank() < self.rank()
  }
}

pub(super) struct Waiting<K> {
  pub(super) request: Request,
  pub(super) sink: K,
  pub(super) ticket: Ticket,
  pub(super) clock: Stopwatch,
  pub(super) stored: Stored,
  deadline: Option<Instant>,
}

/// Requests that have not started.
pub(super) struct Queue<K> {
  pub(super) waiting: Vec<Waiting<K>>,
  limit: usize,
  timeout: Option<Duration>,
  context_size: usize,
  can_shift: bool,
  can_prewarm: bool,
  submitted: u64,
  pub(super) refused: u64,
  pub(super) timed_out: u64,
}

impl<K: Sink> Queue<K> {
  pub(super) fn new(settings: &Settings, context_size: usize, can_shift: bool) -> Self {
    Self {
      waiting: Vec::new(),
      limit: settings.queue_limit,
      timeout: settings.queue_timeout,
      context_size,
      can_shift,
      can_prewarm: settings.cache_bytes > 0,
      submitted: 0,
      refused: 0,
      timed_out: 0,
    }
  }

  /// Takes a request, or ends it at once.
  pub(super) fn submit(&mut self, arrival: Arrival<K>) {
    let Arrival { request, mut sink, stored } = arrival;
    let lane = request.options.queue.lane;
    let checked = check_request(&request, self.context_size, self.can_shift).and_then(|()| {
      let waiting = self.waiting_in(lane);
      if request.options.queue.prewarm && !self.can_prewarm {
        let message =
          "the context was opened without a prefix cache, so nothing can be kept for later requests";
        return Err(EngineError::new(ErrorCode::Unsupported, message));
      }
      if waiting >= self.limit {
        self.refused += 1;
        return Err(queue_full(lane, waiting, self.limit));
      }
      Ok(())
    });
    if let Err(error) = checked {
      return sink.send(Event::Failed(error));
    }
    self.submitted += 1;
    let ticket = Ticket { order: self.submitted, lane, overtaken: 0 };
    let deadline = request.options.queue.timeout.or(self.timeout).map(|timeout| Instant::now() + timeout);
    self.waiting.push(Waiting { request, sink, ticket, clock: Stopwatch::new(), stored, deadline });
  }

  /// Requests that wait in `lane`.
  pub(super) fn waiting_in(&self, lane: Lane) -> usize {
    self.waiting.iter().filter(|waiting| waiting.ticket.lane == lane).count()
  }

  /// Ends what was cancelled or waited too long. Returns whether anything did.
  pub(super) fn reap(&mut self) -> bool {
    let before = self.waiting.len();
    let now = self.waiting.iter().any(|waiting| waiting.deadline.is_some()).then(Instant::now);
    let mut timed_out = 0;
    self.waiting.retain_mut(|waiting| {
      if waiting.request.cancel.is_cancelled() {
        waiting.sink.send(Event::Done(waiting.cancelled()));
        return false;
      }
      let late = now.zip(waiting.deadline).is_some_and(|(now, deadline)| now >= deadline);
      if late {
        timed_out += 1;
        waiting.sink.send(Event::Failed(waiting.late()));
      }
      !late
    });
    self.timed_out += timed_out;
    self.waiting.len() != before
  }

  /// When the next request will have waited too long.
  pub(super) fn deadline(&self) -> Option<Instant> {
    self.waiting.iter().filter_map(|waiting| waiting.deadline).min()
  }
}

impl<K> Waiting<K> {
  fn cancelled(&self) -> Finished {
    let mut usage = Usage { prompt_tokens: self.request.prompt.len_cells(), ..Usage::default() };
    self.clock.write(&mut usage);
    Finished { reason: FinishReason::Cancelled, stop: None, usage }
  }

  fn late(&self) -> EngineError {
    let mut usage = Usage::default();
    self.clock.write(&mut usage);
    let (lane, waited) = (self.ticket.lane.as_str(), usage.queue.as_millis());
    EngineError::new(
      ErrorCode::QueueTimeout,
      format!("the request ({lane}) waited {waited} ms for the context, longer than it may: try again later"),
    )
  }
}

fn queue_full(lane: Lane, waiting: usize, limit: usize) -> EngineError {
  EngineError::new(
    ErrorCode::QueueFull,
    format!("{waiting} {} requests wait for the context and {limit} may: try again later", lane.as_str()),
  )
}
