//! Errors of the decoder and of samplers.

use local_inference_core::error::ErrorCode;
use local_inference_core::options::GenerateOptions;
use local_inference_core::schedule::Activity;

use crate::support::fake::Setup;
use crate::support::solo::{Bench, limit, prompt, solo};

fn endless() -> GenerateOptions {
  GenerateOptions { ignore_eos: true, ..limit(20) }
}

#[test]
fn a_decode_error_fails_exactly_the_requests_in_the_batch() {
  let setup = Setup { parallel: 3, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let mut tickets: Vec<_> = (1..4).map(|salt| bench.submit(&prompt(salt, 4), endless())).collect();
  for _ in 0..4 {
    bench.scheduler.step();
  }
  tickets[1].inbox.set_ready(false);
  bench.fake.with(|state| {
    let next = state.batches.len();
    state.failing_decodes.insert(next)
  });
  assert_eq!(bench.scheduler.step(), Activity::Worked);
  for failed in [&tickets[0], &tickets[2]] {
    assert_eq!((failed.inbox.endings(), failed.inbox.failure().0), (1, ErrorCode::DecodeFailed));
  }
  tickets[1].inbox.set_ready(true);
  tickets.push(bench.submit(&prompt(4, 4), endless()));
  bench.drain();
  for (index, salt) in [(1, 2), (3, 4)] {
    assert_eq!(tickets[index].inbox.outcome(), solo(setup, &prompt(salt, 4), endless()));
  }
}

#[test]
fn after_a_decode_error_nothing_of_the_failed_batch_is_reused() {
  let setup = Setup::default();
  for call in 0..6 {
    let mut bench = Bench::new(setup);
    bench.fake.with(|state| state.failing_decodes.insert(call));
    bench.run(&prompt(1, 50), endless()).failure();
    let inbox = bench.run(&prompt(1, 50), endless());
    assert_eq!(inbox.finished().usage.cached_prompt_tokens, 0);
    assert_eq!(inbox.outcome(), solo(setup, &prompt(1, 50), endless()));
  }
}

#[test]
fn a_token_that_cannot_be_chosen_fails_only_its_request() {
  let setup = Setup { parallel: 2, ..Setup::default() };
  for number in [0, 1, 7] {
    let mut bench = Bench::new(setup);
    bench.fake.with(|state| state.failing_samples.insert(prompt(1, 4), number));
    let (failing, other) = (bench.submit(&prompt(1, 4), endless()), bench.submit(&prompt(2, 4), endless()));
    bench.drain();
    assert_eq!((failing.inbox.endings(), failing.inbox.failure().0), (1, ErrorCode::GrammarInvalid));
    assert_eq!(failing.inbox.tokens(), number);
    assert_eq!(other.inbox.outcome(), solo(setup, &prompt(2, 4), endless()));
  }
}

#[test]
fn a_cache_is_good_for_reuse_after_a_sampling_error() {
  let setup = Setup::default();
  let mut bench = Bench::new(setup);
  bench.fake.with(|state| state.failing_samples.insert(prompt(1, 20), 5));
  bench.run(&prompt(1, 20), endless()).failure();
  let longer = [&prompt(1, 20)[..], &prompt(2, 4)].concat();
  let inbox = bench.run(&longer, endless());
  assert_eq!(inbox.finished().usage.cached_prompt_tokens, 20);
  assert_eq!(inbox.outcome(), solo(setup, &longer, endless()));
}

#[test]
fn a_sampler_that_cannot_be_created_fails_its_request_and_the_next_one_starts() {
  let setup = Setup::default();
  let mut bench = Bench::new(setup);
  bench.fake.with(|state| state.failing_samplers.insert(prompt(1, 4)));
  let (failing, next) = (bench.submit(&prompt(1, 4), endless()), bench.submit(&prompt(2, 4), endless()));
  assert_eq!(bench.scheduler.step(), Activity::Worked);
  assert_eq!((failing.inbox.endings(), failing.inbox.failure().0), (1, ErrorCode::GrammarInvalid));
  assert_eq!(next.inbox.tokens(), 1);
  bench.drain();
  assert_eq!(next.inbox.outcome(), solo(setup, &prompt(2, 4), endless()));
}

#[test]
fn a_tick_that_only_ended_a_request_has_worked() {
  let mut bench = Bench::new(Setup::default());
  bench.fake.with(|state| state.failing_samplers.insert(prompt(1, 4)));
  bench.submit(&prompt(1, 4), endless());
  assert_eq!([bench.scheduler.step(), bench.scheduler.step()], [Activity::Worked, Activity::Idle]);
}
