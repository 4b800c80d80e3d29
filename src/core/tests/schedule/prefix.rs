//! Reuse of the KV cache between requests.

use crate::support::fake::{Memory, Setup};
use crate::support::model::{END, token};
use crate::support::solo::{Bench, limit, prompt, solo};

#[test]
fn a_shared_prefix_is_not_evaluated_again_and_changes_nothing() {
  let setup = Setup::default();
  let mut bench = Bench::new(setup);
  bench.run(&prompt(1, 50), limit(10));
  let second = [&prompt(1, 40)[..], &prompt(2, 12)].concat();
  let before = bench.fake.with(|state| state.evaluated);
  let inbox = bench.run(&second, limit(10));
  assert_eq!(inbox.outcome(), solo(setup, &second, limit(10)));
  let usage = inbox.finished().usage;
  assert_eq!((usage.prompt_tokens, usage.cached_prompt_tokens), (52, 40));
  let evaluated = bench.fake.with(|state| state.evaluated) - before;
  assert_eq!(evaluated, 12 + usage.completion_tokens - 1);
}

#[test]
fn an_identical_prompt_evaluates_only_its_last_token() {
  let mut bench = Bench::new(Setup::default());
  let first = bench.run(&prompt(1, 50), limit(1)).outcome();
  let before = bench.fake.with(|state| state.evaluated);
  let inbox = bench.run(&prompt(1, 50), limit(1));
  assert_eq!(inbox.outcome(), first);
  assert_eq!(inbox.finished().usage.cached_prompt_tokens, 49);
  assert_eq!(bench.fake.with(|state| state.evaluated) - before, 1);
}

#[test]
fn the_next_turn_of_a_conversation_reuses_the_answer_too() {
  let mut bench = Bench::new(Setup::default());
  let answer = [token("a"), token("b"), token("ab")];
  bench.fake.script(&prompt(1, 20), &[&answer[..], &[END]].concat());
  bench.run(&prompt(1, 20), limit(9));
  let turn = [&prompt(1, 20)[..], &answer, &prompt(2, 5)].concat();
  assert_eq!(bench.run(&turn, limit(9)).finished().usage.cached_prompt_tokens, 23);
}

#[test]
fn a_refused_truncation_evaluates_the_whole_prompt_and_changes_nothing() {
  for memory in [Memory::Recurrent, Memory::Window(8)] {
    let setup = Setup { memory, ..Setup::default() };
    let mut bench = Bench::new(setup);
    bench.run(&prompt(1, 50), limit(10));
    let inbox = bench.run(&prompt(1, 50), limit(10));
    assert_eq!(inbox.finished().usage.cached_prompt_tokens, 0, "{memory:?}");
    assert_eq!(inbox.outcome(), solo(setup, &prompt(1, 50), limit(10)), "{memory:?}");
  }
}

#[test]
fn a_recurrent_state_is_reused_by_a_prompt_that_continues_it() {
  let mut bench = Bench::new(Setup { memory: Memory::Recurrent, ..Setup::default() });
  bench.fake.script(&prompt(1, 20), &[token("a")]);
  bench.run(&prompt(1, 20), limit(1));
  let longer = [&prompt(1, 20)[..], &[token("a")], &prompt(2, 5)].concat();
  assert_eq!(bench.run(&longer, limit(1)).finished().usage.cached_prompt_tokens, 20);
}

#[test]
fn a_truncation_within_the_window_is_used() {
  let setup = Setup { memory: Memory::Window(8), ..Setup::default() };
  let mut bench = Bench::new(setup);
  bench.run(&prompt(1, 50), limit(1));
  let inbox = bench.run(&[&prompt(1, 45)[..], &prompt(2, 5)].concat(), limit(9));
  assert_eq!(inbox.finished().usage.cached_prompt_tokens, 45);
}

#[test]
fn the_slot_with_the_longest_shared_prefix_is_chosen() {
  let mut bench = Bench::new(Setup { parallel: 3, ..Setup::default() });
  let prompts = [prompt(1, 20), prompt(2, 30), prompt(3, 25)];
  for prompt in &prompts {
    bench.submit(prompt, limit(4));
  }
  bench.drain();
  for prompt in prompts.iter().rev() {
    assert_eq!(bench.run(prompt, limit(4)).finished().usage.cached_prompt_tokens, prompt.len() - 1);
  }
}

#[test]
fn a_first_token_in_common_does_not_cost_another_conversation_its_cache() {
  let mut bench = Bench::new(Setup { parallel: 2, ..Setup::default() });
  let first = [&[5][..], &prompt(1, 30)].concat();
  let second = [&[5][..], &prompt(2, 30)].concat();
  bench.run(&first, limit(4));
  assert_eq!(bench.run(&second, limit(4)).finished().usage.cached_prompt_tokens, 0);
  assert_eq!(bench.run(&first, limit(4)).finished().usage.cached_prompt_tokens, 30);
  assert_eq!(bench.run(&second, limit(4)).finished().usage.cached_prompt_tokens, 30);
}

#[test]
fn without_a_shared_prefix_the_slot_that_was_longest_unused_is_taken() {
  let mut bench = Bench::new(Setup { parallel: 2, ..Setup::default() });
  bench.run(&prompt(1, 20), limit(4));
  bench.run(&prompt(2, 20), limit(4));
  bench.run(&prompt(3, 20), limit(4));
  assert_eq!(bench.run(&prompt(2, 20), limit(4)).finished().usage.cached_prompt_tokens, 19);
}

#[test]
fn a_sampler_that_cannot_be_created_leaves_the_cache_as_it_was() {
  let mut bench = Bench::new(Setup::default());
  bench.run(&prompt(1, 20), limit(4));
  bench.fake.with(|state| state.failing_samplers.insert(prompt(2, 20)));
  bench.run(&prompt(2, 20), limit(4)).failure();
  assert_eq!(bench.run(&prompt(1, 20), limit(4)).finished().usage.cached_prompt_tokens, 19);
}

#[test]
fn a_long_request_does_not_look_at_what_other_conversations_left() {
  let setup = Setup { parallel: 3, cache: 1 << 16, long_request: 60, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let first = bench.run(&prompt(1, 40), limit(5)).outcome();
  bench.run(&prompt(2, 20), limit(5));
  // A short one leaves everything where it is.
  assert_eq!(
    (bench.scheduler.metrics().context_used, bench.scheduler.metrics().cache_entries),
    (40 + 20 + 8, 0)
  );
  bench.run(&prompt(3, 70), limit(5));
  let now = bench.scheduler.metrics();
  assert_eq!((now.context_used, now.cache_entries), (70 + 4, 2), "they are in the store instead");
  let again = bench.run(&prompt(1, 40), limit(5));
  assert_eq!((again.finished().usage.cached_prompt_tokens, again.outcome()), (39, first));
}

#[test]
fn what_cannot_be_stored_stays_where_it_is() {
  for setup in [
    Setup { parallel: 2, cache: 0, long_request: 1, ..Setup::default() },
    Setup { parallel: 2, cache: 100, long_request: 1, ..Setup::default() },
    Setup { parallel: 2, cache: 1 << 16, long_request: 1, memory: Memory::Window(8), ..Setup::default() },
  ] {
    let mut bench = Bench::new(setup);
    bench.run(&prompt(1, 40), limit(1));
    bench.run(&prompt(2, 40), limit(1));
    assert_eq!(bench.scheduler.metrics().context_used, 80, "{setup:?}");
  }
}
