//! What ends a generation.

use local_inference_core::error::ErrorCode;
use local_inference_core::generate::{Event, FinishReason};
use local_inference_core::options::GenerateOptions;
use local_inference_core::schedule::Activity;

use crate::support::fake::Setup;
use crate::support::model::{END, token, tokens};
use crate::support::solo::{Bench, limit, prompt, reference};

#[test]
fn a_request_gives_what_a_plain_loop_over_the_model_gives() {
  let mut ends = 0;
  for salt in 0..18 {
    let prompt = prompt(salt, 5);
    let outcome = Bench::new(Setup::default()).run(&prompt, GenerateOptions::default()).outcome();
    assert_eq!(outcome, reference(256, &prompt, &GenerateOptions::default()), "salt {salt}");
    ends += usize::from(outcome.reason == FinishReason::Stop);
  }
  assert!(ends > 10, "the model mostly ends by itself");
}

#[test]
fn a_prompt_evaluated_in_chunks_gives_what_it_gives_in_one() {
  let prompt = prompt(3, 61);
  for batch in [1, 2, 7, 60, 61, 64] {
    let setup = Setup { batch, micro_batch: 3, ..Setup::default() };
    let mut bench = Bench::new(setup);
    let outcome = bench.run(&prompt, limit(20)).outcome();
    assert_eq!(outcome, reference(256, &prompt, &limit(20)), "batches of {batch}");
    let chunks = bench.fake.with(|state| state.batches.len()) - (outcome.tokens - 1);
    assert_eq!(chunks, 61_usize.div_ceil(batch));
  }
}

#[test]
fn logits_are_asked_for_only_where_a_token_is_sampled() {
  let mut bench = Bench::new(Setup::default());
  let tokens = bench.run(&prompt(3, 61), limit(20)).tokens();
  let rows: usize =
    bench.fake.with(|state| state.batches.iter().flatten().filter(|token| token.logits).count());
  assert_eq!(rows, tokens);
}

#[test]
fn max_tokens_ends_with_length_after_exactly_that_many() {
  let prompt = prompt(1, 4);
  let all = reference(256, &prompt, &GenerateOptions { ignore_eos: true, ..limit(30) });
  for most in 1..=30 {
    let outcome = Bench::new(Setup::default())
      .run(&prompt, GenerateOptions { ignore_eos: true, ..limit(most) })
      .outcome();
    assert_eq!((outcome.tokens, outcome.reason), (most as usize, FinishReason::Length));
    assert!(all.text.starts_with(outcome.text.trim_end_matches('\u{fffd}')));
  }
}

#[test]
fn the_end_token_at_the_limit_is_a_stop() {
  let mut bench = Bench::new(Setup::default());
  bench.fake.script(&[1], &[token("a"), END]);
  let outcome = bench.run(&[1], limit(2)).outcome();
  assert_eq!((outcome.tokens, outcome.reason, outcome.text.as_str()), (2, FinishReason::Stop, "a"));
}

#[test]
fn before_min_tokens_the_end_token_is_banned() {
  let mut bench = Bench::new(Setup::default());
  bench.fake.script(&[1], &[END, END, END, END]);
  let outcome = bench.run(&[1], GenerateOptions { min_tokens: 3, ..limit(9) }).outcome();
  assert_eq!((outcome.text.as_str(), outcome.tokens, outcome.reason), ("bbb", 4, FinishReason::Stop));
}

#[test]
fn with_ignore_eos_the_end_token_is_banned_throughout() {
  let mut bench = Bench::new(Setup::default());
  bench.fake.script(&[1], &[]);
  let outcome = bench.run(&[1], GenerateOptions { ignore_eos: true, ..limit(5) }).outcome();
  assert_eq!((outcome.text.as_str(), outcome.reason), ("bbbbb", FinishReason::Length));
}

#[test]
fn a_full_context_ends_with_context_and_uses_every_cell() {
  let setup = Setup { context: 32, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let options = GenerateOptions { ignore_eos: true, ..GenerateOptions::default() };
  let inbox = bench.run(&prompt(2, 10), options.clone());
  assert_eq!(inbox.outcome(), reference(32, &prompt(2, 10), &options));
  // The last token is sampled from the last cell and needs none itself.
  assert_eq!((inbox.finished().reason, inbox.tokens()), (FinishReason::Context, 23));
  assert_eq!(bench.fake.with(|state| state.peak), 32);
}

#[test]
fn the_longest_prompt_that_is_taken_leaves_room_for_two_tokens() {
  let setup = Setup { context: 32, ..Setup::default() };
  let options = GenerateOptions { ignore_eos: true, ..GenerateOptions::default() };
  let outcome = Bench::new(setup).run(&prompt(2, 31), options).outcome();
  assert_eq!((outcome.tokens, outcome.reason), (2, FinishReason::Context));
}

#[test]
fn a_prompt_that_fills_the_context_fails_at_once_and_says_both_numbers() {
  let mut bench = Bench::new(Setup { context: 32, ..Setup::default() });
  for length in [32, 33, 500] {
    let ticket = bench.submit(&prompt(2, length), limit(1));
    let (code, message) = ticket.inbox.failure();
    assert_eq!(code, ErrorCode::ContextOverflow);
    assert!(message.contains(&format!("{length} tokens")) && message.contains("holds 32"), "{message}");
    assert_eq!(ticket.inbox.events().len(), 1);
  }
  assert_eq!((bench.scheduler.load(), bench.scheduler.step()), (0, Activity::Idle));
}

#[test]
fn an_empty_prompt_is_invalid_input() {
  let ticket = Bench::new(Setup::default()).submit(&[], limit(1));
  assert_eq!(ticket.inbox.failure().0, ErrorCode::InvalidInput);
}

#[test]
fn every_token_is_reported_with_one_piece_as_it_is_sampled() {
  let mut bench = Bench::new(Setup::default());
  bench.fake.script(&[1], &tokens(&["a", "b", "ab"]));
  let inbox = bench.run(&[1], limit(9));
  let pieces: Vec<_> = inbox
    .events()
    .iter()
    .filter_map(|event| match event {
      Event::Piece(piece) => Some((piece.text.clone(), piece.tokens)),
      _ => None,
    })
    .collect();
  let expected = [("a", 1), ("b", 1), ("ab", 1), ("", 1)].map(|(text, tokens)| (text.to_owned(), tokens));
  assert_eq!(pieces, expected);
}
