//! The numbers of a request.

use std::time::Duration;

use local_inference_core::generate::FinishReason;
use local_inference_core::options::{GenerateOptions, SamplingOptions};

use crate::support::fake::Setup;
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
  bench.scheduler.tick();
  second.cancel.cancel();
  bench.drain();
  let finished = second.inbox.finished();
  assert_eq!(finished.reason, FinishReason::Cancelled);
  assert_eq!((finished.usage.prompt_tokens, finished.usage.cached_prompt_tokens), (11, 0));
  assert_eq!((finished.usage.completion_tokens, finished.usage.prefill), (0, Duration::ZERO));
  assert!(first.inbox.ended());
}
