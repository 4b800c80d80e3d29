//! What happens when prompt and answer fill the context.

use local_inference_core::error::ErrorCode;
use local_inference_core::generate::FinishReason;
use local_inference_core::options::{ContextFull, GenerateOptions, QueueOptions};

use crate::support::fake::{Memory, Setup};
use crate::support::solo::{Bench, limit, prompt, solo};

fn when_full(context_full: ContextFull, tokens: u32) -> GenerateOptions {
  let queue = QueueOptions { context_full, ..QueueOptions::default() };
  GenerateOptions { ignore_eos: true, queue, ..limit(tokens) }
}

fn setup(parallel: u32) -> Setup {
  Setup { parallel, context: 32, ..Setup::default() }
}

#[test]
fn by_default_the_generation_ends_there() {
  let inbox = Bench::new(setup(1)).run(&prompt(1, 10), when_full(ContextFull::Stop, 99));
  assert_eq!((inbox.finished().reason, inbox.tokens()), (FinishReason::Context, 23));
}

#[test]
fn as_an_error_it_says_the_numbers_after_the_text_so_far() {
  let inbox = Bench::new(setup(1)).run(&prompt(1, 10), when_full(ContextFull::Error, 99));
  let (code, message) = inbox.failure();
  assert_eq!((code, inbox.tokens()), (ErrorCode::ContextOverflow, 23));
  assert!(message.contains("33 tokens") && message.contains("context of 32"), "{message}");
}

#[test]
fn a_shift_goes_on_with_the_beginning_and_the_newest_tokens() {
  let options = when_full(ContextFull::Shift { keep: 4 }, 60);
  let mut bench = Bench::new(setup(1));
  let ticket = bench.submit(&prompt(1, 10), options);
  while ticket.inbox.tokens() < 24 {
    bench.scheduler.step();
  }
  let held = bench.fake.with(|state| state.tokens(0));
  assert_eq!((held.len(), &held[..4]), (32 - 14 + 1, &prompt(1, 4)[..]));
  bench.drain();
  assert_eq!((ticket.inbox.finished().reason, ticket.inbox.tokens()), (FinishReason::Length, 60));
  // Nothing was evaluated twice.
  assert_eq!(bench.fake.with(|state| state.evaluated), 10 + 59);
}

#[test]
fn shifted_tokens_serve_no_other_request() {
  let mut bench = Bench::new(Setup { cache: 1 << 16, ..setup(1) });
  bench.run(&prompt(1, 10), when_full(ContextFull::Shift { keep: 10 }, 40));
  let again = bench.run(&prompt(1, 10), limit(3));
  assert_eq!(again.finished().usage.cached_prompt_tokens, 0);
}

#[test]
fn cells_shared_with_others_are_not_moved() {
  let setup = Setup { parallel: 2, context: 40, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let options = when_full(ContextFull::Shift { keep: 4 }, 50);
  let other = when_full(ContextFull::Stop, 4);
  let first = bench.submit(&[&prompt(1, 16)[..], &[5]].concat(), options.clone());
  bench.scheduler.step();
  bench.scheduler.step();
  let second = bench.submit(&[&prompt(1, 16)[..], &[6]].concat(), other.clone());
  bench.drain();
  assert_eq!(first.inbox.outcome(), solo(setup, &[&prompt(1, 16)[..], &[5]].concat(), options));
  assert_eq!(second.inbox.outcome(), solo(setup, &[&prompt(1, 16)[..], &[6]].concat(), other));
}

#[test]
fn memory_that_cannot_move_positions_refuses_a_shift_at_once() {
  for memory in [Memory::Window(4), Memory::Recurrent] {
    let mut bench = Bench::new(Setup { memory, ..setup(1) });
    let ticket = bench.submit(&prompt(1, 10), when_full(ContextFull::Shift { keep: 4 }, 9));
    assert_eq!(ticket.inbox.failure().0, ErrorCode::Unsupported);
  }
}
