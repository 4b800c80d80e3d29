//! The numbers of a scheduler, and the last words of requests, which are said once the numbers include them.

use std::sync::{Arc, Mutex};

use crate::generate::{Event, Finished, Sink};
use crate::stats::Metrics;
use crate::sync::lock;

/// Requests that ended, and what was counted.
pub(super) struct Endings<K> {
  pub(super) counters: Metrics,
  /// What others see of the numbers.
  published: Arc<Mutex<Metrics>>,
  waiting: Vec<(K, Event)>,
}

impl<K: Sink> Endings<K> {
  pub(super) fn new(context_size: usize) -> Self {
    let published = Arc::new(Mutex::new(Metrics { context_size, ..Metrics::default() }));
    Self { counters: Metrics::default(), published, waiting: Vec::new() }
  }

  pub(super) fn published(&self) -> Arc<Mutex<Metrics>> {
    Arc::clone(&self.published)
  }

  pub(super) fn is_empty(&self) -> bool {
    self.waiting.is_empty()
  }

  /// A request has ended with this.
  pub(super) fn push(&mut self, sink: K, last: Event) {
    self.waiting.push((sink, last));
  }

  /// A request that ran has ended.
  pub(super) fn finished(&mut self, sink: K, finished: Finished) {
    self.counters.prompt_tokens += finished.usage.prompt_tokens as u64;
    self.counters.cached_prompt_tokens += finished.usage.cached_prompt_tokens as u64;
    self.counters.hits += u64::from(finished.usage.cached_prompt_tokens > 0);
    self.push(sink, Event::Done(finished));
  }

  /// Publishes the numbers, then tells who ended.
  pub(super) fn conclude(&mut self, metrics: Metrics) {
    *lock(&self.published) = metrics;
    for (mut sink, last) in self.waiting.drain(..) {
      sink.send(last);
    }
  }
}
