//! Reuse across sequences, snapshots and pins.

use local_inference_core::decoder::Token;
use local_inference_core::error::ErrorCode;
use local_inference_core::generate::FinishReason;
use local_inference_core::options::{GenerateOptions, QueueOptions};

use crate::support::fake::{Memory, Setup};
use crate::support::solo::{Bench, limit, prompt, solo};

const KINDS: [Memory; 3] = [Memory::Full, Memory::Window(4), Memory::Recurrent];

fn endless(tokens: u32) -> GenerateOptions {
  GenerateOptions { ignore_eos: true, ..limit(tokens) }
}

fn prewarm() -> GenerateOptions {
  GenerateOptions {
    queue: QueueOptions { prewarm: true, ..QueueOptions::default() },
    ..GenerateOptions::default()
  }
}

fn joined(parts: &[&[Token]]) -> Vec<Token> {
  parts.concat()
}

fn cached(bench: &mut Bench, prompt: &[Token]) -> usize {
  bench.run(prompt, endless(3)).finished().usage.cached_prompt_tokens
}

#[test]
fn a_running_request_lends_its_beginning_and_its_cells_count_once() {
  let setup = Setup { parallel: 3, context: 128, batch: 64, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let system = prompt(1, 40);
  let prompts: Vec<_> = (2..5).map(|salt| joined(&[&system, &prompt(salt, 6)])).collect();
  let first = bench.submit(&prompts[0], endless(20));
  bench.scheduler.step();
  let others: Vec<_> = prompts[1..].iter().map(|prompt| bench.submit(prompt, endless(20))).collect();
  bench.scheduler.step();
  bench.scheduler.step();
  assert!(others.iter().all(|ticket| ticket.inbox.tokens() > 0));
  bench.drain();
  for (ticket, prompt) in [&first].into_iter().chain(&others).zip(&prompts) {
    assert_eq!(ticket.inbox.outcome(), solo(setup, prompt, endless(20)));
  }
  assert!(others.iter().all(|ticket| ticket.inbox.finished().usage.cached_prompt_tokens == 40));
  assert!(bench.fake.with(|state| state.peak) <= 40 + 3 * 26);
}

#[test]
fn a_conversation_pushed_out_of_its_sequence_comes_back_from_a_snapshot() {
  for memory in KINDS {
    let setup = Setup { memory, cache: 1 << 16, ..Setup::default() };
    let mut bench = Bench::new(setup);
    let first = bench.run(&prompt(1, 40), endless(5));
    bench.run(&prompt(2, 40), endless(5));
    let answer = bench.fake.with(|_| first.tokens());
    let turn = prompt(1, 40);
    let inbox = bench.run(&turn, endless(5));
    assert_eq!(inbox.outcome(), solo(setup, &turn, endless(5)), "{memory:?}");
    assert_eq!(inbox.finished().usage.cached_prompt_tokens, 39, "{memory:?}");
    assert_eq!(answer, 5);
  }
}

#[test]
fn a_repeated_prompt_needs_one_token_whatever_the_memory() {
  for memory in KINDS {
    let setup = Setup { memory, cache: 1 << 16, ..Setup::default() };
    let mut bench = Bench::new(setup);
    bench.run(&prompt(1, 50), endless(10));
    let before = bench.fake.with(|state| state.evaluated);
    assert_eq!(cached(&mut bench, &prompt(1, 50)), 49, "{memory:?}");
    assert_eq!(bench.fake.with(|state| state.evaluated) - before, 1 + 2);
  }
}

#[test]
fn a_prewarmed_beginning_serves_every_request_that_has_it() {
  for memory in KINDS {
    let setup = Setup { memory, cache: 1 << 16, ..Setup::default() };
    let mut bench = Bench::new(setup);
    let system = prompt(1, 40);
    let finished = bench.run(&system, prewarm()).finished();
    assert_eq!((finished.reason, finished.usage.completion_tokens), (FinishReason::Length, 0));
    for salt in 2..6 {
      let request = joined(&[&system, &prompt(salt, 10)]);
      let inbox = bench.run(&request, endless(5));
      assert_eq!(inbox.finished().usage.cached_prompt_tokens, 40, "{memory:?}");
      assert_eq!(inbox.outcome(), solo(setup, &request, endless(5)));
    }
  }
}

#[test]
fn prewarming_again_evaluates_nothing() {
  for memory in KINDS {
    let mut bench = Bench::new(Setup { memory, cache: 1 << 16, ..Setup::default() });
    bench.run(&prompt(1, 40), prewarm());
    let finished = bench.run(&prompt(1, 40), prewarm()).finished();
    assert_eq!(finished.usage.cached_prompt_tokens, 40);
    assert_eq!(bench.fake.with(|state| state.evaluated), 40, "{memory:?}");
  }
}

#[test]
fn a_pinned_beginning_outlives_a_stream_of_others() {
  // Room for three snapshots of 50 tokens.
  let mut bench = Bench::new(Setup { cache: 1_200, ..Setup::default() });
  bench.run(&prompt(1, 40), prewarm());
  for salt in 2..12 {
    bench.run(&prompt(salt, 45), endless(5));
  }
  assert_eq!(cached(&mut bench, &joined(&[&prompt(1, 40), &[1, 2]])), 40);
}

#[test]
fn without_a_cache_nothing_can_be_prewarmed() {
  let ticket = Bench::new(Setup::default()).submit(&prompt(1, 40), prewarm());
  assert_eq!(ticket.inbox.failure().0, ErrorCode::Unsupported);
}

#[test]
fn where_memory_cannot_go_back_the_third_request_finds_the_common_beginning_of_the_first_two() {
  for memory in [Memory::Window(4), Memory::Recurrent] {
    let setup = Setup { parallel: 2, memory, cache: 1 << 16, ..Setup::default() };
    let mut bench = Bench::new(setup);
    let system = prompt(1, 40);
    let prompts: Vec<_> = (2..5).map(|salt| joined(&[&system, &prompt(salt, 12)])).collect();
    assert_eq!(
      prompts.iter().map(|prompt| cached(&mut bench, prompt)).collect::<Vec<_>>(),
      [0, 0, 40],
      "{memory:?}"
    );
    for prompt in &prompts {
      assert_eq!(bench.run(prompt, endless(9)).outcome(), solo(setup, prompt, endless(9)));
    }
  }
}

#[test]
fn memory_that_can_go_back_takes_no_snapshot_while_a_sequence_holds_the_tokens() {
  let mut bench = Bench::new(Setup { parallel: 2, cache: 1 << 16, ..Setup::default() });
  bench.run(&prompt(1, 40), endless(5));
  bench.run(&prompt(2, 40), endless(5));
  bench.run(&prompt(1, 40), endless(5));
  assert_eq!(bench.fake.with(|state| state.snapshots), 0);
}

#[test]
fn a_snapshot_that_finds_no_room_is_left_aside() {
  let setup = Setup { parallel: 2, context: 64, cache: 1 << 16, ..Setup::default() };
  let mut bench = Bench::new(setup);
  bench.run(&prompt(1, 50), endless(5));
  bench.run(&prompt(2, 50), endless(5));
  let long = bench.submit(&prompt(3, 30), endless(30));
  bench.scheduler.step();
  let short = joined(&[&prompt(1, 20), &[3]]);
  let ticket = bench.submit(&short, endless(5));
  bench.drain();
  assert_eq!(ticket.inbox.outcome(), solo(setup, &short, endless(5)));
  assert_eq!(long.inbox.outcome(), solo(setup, &prompt(3, 30), endless(30)));
}

#[test]
fn what_is_stored_meanwhile_does_not_push_out_what_a_request_was_promised() {
  // Room for one snapshot: that of the second prompt takes the place of the first one's, which is just being used.
  let mut bench = Bench::new(Setup { cache: 400, ..Setup::default() });
  bench.run(&prompt(1, 40), endless(5));
  bench.run(&prompt(2, 40), endless(5));
  assert_eq!(cached(&mut bench, &prompt(1, 40)), 39);
}
