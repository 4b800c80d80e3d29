//! The numbers of a request.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use local_inference_core::cancel::CancelToken;
use local_inference_core::generate::{Event, FinishReason, Request, Sink};
use local_inference_core::options::{GenerateOptions, SamplingOptions};
use local_inference_core::schedule::{Activity, Arrival, Scheduler, Settings};
use local_inference_core::stats::Metrics;

use crate::support::fake::{Fake, Setup};
use crate::support::model::{END, token};
use crate::support::solo::{Bench, limit, prompt};

#[test]
fn prompt_and_completion_tokens_are_counted_exactly() {
  let mut bench = Bench::new(Setup::default());
  bench.fake.script(&prompt(1, 40), &[token("a"), token("b"), END]);
  let usage = bench.run(&prompt(1, 40), limit(9)).finished().usage;
  let counts =
    (usage.prompt_tokens, usage.cached_prompt_tokens, usage.completion_tokens, usage.reasoning_tokens);
  assert_eq!(counts, (40, 0, 3, 0));
  assert_eq!((usage.drafted_tokens, usage.accepted_tokens), (0, 0));
  assert_eq!(bench.fake.with(|state| state.evaluated), 42);
}

#[test]
fn the_seed_in_use_is_reported() {
  let sampling = SamplingOptions { seed: Some(99), ..SamplingOptions::default() };
  let usage =
    Bench::new(Setup::default()).run(&[1], GenerateOptions { sampling, ..limit(1) }).finished().usage;
  assert_eq!(usage.seed, 99);
}

#[test]
fn times_follow_from_each_other() {
  let usage = Bench::new(Setup::default()).run(&prompt(1, 40), limit(9)).finished().usage;
  assert_eq!(usage.time_to_first_token, usage.queue + usage.prefill);
  assert!(usage.prefill > Duration::ZERO && usage.prefill_rate() > 0.0);
}

#[test]
fn a_request_cancelled_while_waiting_has_used_nothing() {
  let mut bench = Bench::new(Setup::default());
  let first = bench.submit(&prompt(1, 4), limit(9));
  let second = bench.submit(&prompt(2, 11), limit(9));
  bench.scheduler.step();
  second.cancel.cancel();
  bench.drain();
  let finished = second.inbox.finished();
  assert_eq!(finished.reason, FinishReason::Cancelled);
  assert_eq!((finished.usage.prompt_tokens, finished.usage.cached_prompt_tokens), (11, 0));
  assert_eq!((finished.usage.completion_tokens, finished.usage.prefill), (0, Duration::ZERO));
  assert!(first.inbox.ended());
}

/// Looks at the published numbers in the moment in which it learns of the end.
struct Witness {
  published: Arc<Mutex<Metrics>>,
  seen: Arc<Mutex<Vec<Metrics>>>,
}

impl Sink for Witness {
  fn ready(&self) -> bool {
    true
  }

  fn send(&mut self, event: Event) {
    if !matches!(event, Event::Piece(_)) {
      self
        .seen
        .lock()
        .expect("no test thread panics while it holds this")
        .push(*self.published.lock().expect("the scheduler does not panic while it holds this"));
    }
  }
}

#[test]
fn published_numbers_include_every_request_whose_end_is_told() {
  let mut scheduler = Scheduler::new(Fake::new(Setup::default()), &Settings::default());
  let seen = Arc::new(Mutex::new(Vec::new()));
  for (count, options) in [(1, limit(1)), (2, limit(6))] {
    let sink = Witness { published: scheduler.published(), seen: Arc::clone(&seen) };
    let request = Request { prompt: prompt(count, 5).into(), options, cancel: CancelToken::new() };
    scheduler.submit(Arrival::new(request, sink));
    while scheduler.step() == Activity::Worked {}
  }
  let cancel = CancelToken::new();
  let sink = Witness { published: scheduler.published(), seen: Arc::clone(&seen) };
  scheduler.submit(Arrival::new(
    Request { prompt: prompt(3, 5).into(), options: limit(6), cancel: cancel.clone() },
    sink,
  ));
  scheduler.step();
  cancel.cancel();
  scheduler.step();
  let seen = seen.lock().expect("no test thread panics while it holds this");
  let counts: Vec<_> = seen.iter().map(|it| (it.running, it.started, it.prompt_tokens)).collect();
  assert_eq!(counts, [(0, 1, 5), (0, 2, 10), (0, 3, 15)]);
}
