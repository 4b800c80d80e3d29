//! Drafts beside everything else a request may ask for: the output is that of plain decoding.

use local_inference_core::decoder::Token;
use local_inference_core::generate::FinishReason;
use local_inference_core::options::{GenerateOptions, Mirostat, SamplingOptions, Speculative};
use local_inference_core::speculate::Limits;
use local_inference_core::text::{ReasoningTags, TextOptions};

use crate::support::fake::{Drafting, Fake, Memory, Setup};
use crate::support::model;
use crate::support::sink::Inbox;
use crate::support::solo::{Bench, limit, prompt, solo};

fn fixed(window: usize) -> Limits {
  Limits { min: window, max: window, adaptive: false }
}

fn drafting(wrong_every: usize, window: usize) -> Setup {
  Setup { drafting: Some(Drafting { wrong_every, limits: fixed(window) }), ..Setup::default() }
}

fn decodes(fake: &Fake) -> usize {
  fake.with(|state| state.batches.len())
}

/// Runs one request with drafts and compares it with what it gives without.
fn same(setup: Setup, prompt: &[Token], options: &GenerateOptions) -> (Bench, Inbox) {
  let mut bench = Bench::new(setup);
  let inbox = bench.run(prompt, options.clone());
  assert_eq!(inbox.outcome(), solo(setup, prompt, options.clone()));
  (bench, inbox)
}

#[test]
fn a_drafter_that_is_always_right_saves_decodes() {
  let options = GenerateOptions { ignore_eos: true, ..limit(40) };
  let mut setup = drafting(0, 3);
  // END is drafted where the model would say it, and refused.
  let mut plain = Bench::new(Setup { drafting: None, ..setup });
  plain.run(&prompt(1, 8), options.clone());
  for window in [1, 3, 7] {
    setup.drafting = Some(Drafting { wrong_every: 0, limits: fixed(window) });
    let (bench, inbox) = same(setup, &prompt(1, 8), &options);
    let usage = inbox.finished().usage;
    assert!(usage.accepted_tokens > 15 && usage.accepted_tokens <= usage.drafted_tokens, "{usage:?}");
    assert_eq!(decodes(&plain.fake) - decodes(&bench.fake), usage.accepted_tokens);
  }
}

#[test]
fn wrong_drafts_change_nothing() {
  for wrong_every in 1..6 {
    for window in [1, 2, 5] {
      for salt in 0..6 {
        same(drafting(wrong_every, window), &prompt(salt, 7), &limit(30));
      }
    }
  }
}

#[test]
fn the_numbers_say_what_was_drafted() {
  let (bench, inbox) =
    same(drafting(5, 3), &prompt(2, 8), &GenerateOptions { ignore_eos: true, ..limit(25) });
  let usage = inbox.finished().usage;
  let drafts = bench.fake.with(|state| state.drafts.clone());
  assert_eq!(usage.drafted_tokens, drafts.iter().sum::<usize>());
  assert!(usage.accepted_tokens < usage.drafted_tokens);
  let steps: u32 = usage.draft_windows.iter().sum();
  let by_window: usize =
    usage.draft_windows.iter().enumerate().map(|(window, &steps)| window * steps as usize).sum();
  assert_eq!(by_window, usage.drafted_tokens);
  // The first token comes with the prefill.
  assert_eq!(1 + steps as usize + usage.accepted_tokens, usage.completion_tokens);
  assert!(usage.plain_rate > 0.0 && usage.speed_up() > 0.0, "{usage:?}");
}

/// A seed of the caller's gives the text that it gives without a drafter, so nothing is drawn then.
#[test]
fn drafts_are_drawn_where_nothing_depends_on_the_seed() {
  let run = |sampling: SamplingOptions| {
    let mut bench = Bench::new(drafting(3, 4));
    bench.run(&prompt(1, 8), GenerateOptions { sampling, ignore_eos: true, ..limit(40) });
    bench.fake.with(|state| (state.drawn.clone(), state.verified.clone()))
  };
  let warm = SamplingOptions { temperature: 0.8, ..SamplingOptions::default() };
  let (drawn, verified) = run(warm.clone());
  assert!(!drawn.is_empty() && drawn.iter().all(|&drawn| drawn));
  assert!(verified.iter().any(|drafted| drafted.place > 0), "{verified:?}");
  let mirostat = Mirostat { mode: 2, ..warm.mirostat };
  for other in [
    SamplingOptions { seed: Some(3), ..warm.clone() },
    SamplingOptions { temperature: 0.0, ..warm.clone() },
    SamplingOptions { mirostat, ..warm },
  ] {
    let (drawn, verified) = run(other);
    assert!(!drawn.is_empty() && drawn.iter().all(|&drawn| !drawn) && verified.is_empty());
  }
}

#[test]
fn a_request_can_do_without_or_ask_for_less() {
  let options = |speculative| GenerateOptions { speculative, ignore_eos: true, ..limit(20) };
  let (bench, inbox) = same(drafting(0, 4), &prompt(1, 8), &options(Speculative::Off));
  assert_eq!((inbox.finished().usage.drafted_tokens, bench.fake.with(|state| state.drafts.len())), (0, 0));
  assert!(inbox.finished().usage.draft_windows.is_empty());
  let (bench, _) = same(drafting(0, 4), &prompt(1, 8), &options(Speculative::Within(fixed(2))));
  assert!(bench.fake.with(|state| state.drafts.iter().all(|&length| length <= 2)));
  let (bench, _) = same(drafting(0, 2), &prompt(1, 8), &options(Speculative::Within(fixed(9))));
  assert!(bench.fake.with(|state| state.drafts.iter().all(|&length| length <= 2)));
}

#[test]
fn stops_limits_and_the_end_cut_a_draft_off() {
  let setup = drafting(0, 6);
  let script = ["a", "b", "ST", "OP", "a", "b", "a", "b"].map(model::token);
  for (options, tokens, reason) in [
    (
      GenerateOptions { text: TextOptions { stops: vec!["STOP".to_owned()], reasoning: None }, ..limit(50) },
      4,
      FinishReason::Stop,
    ),
    (limit(3), 3, FinishReason::Length),
    (limit(50), 9, FinishReason::Stop),
  ] {
    let mut bench = Bench::new(setup);
    bench.fake.script(&prompt(1, 8), &script);
    let ticket = bench.submit(&prompt(1, 8), options);
    bench.drain();
    let outcome = ticket.inbox.outcome();
    assert_eq!((outcome.tokens, outcome.reason), (tokens, reason));
    assert!(ticket.inbox.finished().usage.accepted_tokens > 0);
    // What is left in the cache serves the next request.
    let again = [prompt(1, 8), script[..2].to_vec(), prompt(5, 2)].concat();
    assert_eq!(bench.run(&again, limit(5)).outcome(), solo(setup, &again, limit(5)));
  }
}

#[test]
fn minimum_reasoning_and_log_probabilities_are_kept() {
  let tags = ReasoningTags { start: "<t>".to_owned(), ends: vec!["</t>".to_owned()], open: false };
  for salt in 0..8 {
    let options = GenerateOptions {
      min_tokens: 6,
      logprobs: Some(0),
      text: TextOptions { stops: vec!["b".to_owned()], reasoning: Some(tags.clone()) },
      sampling: SamplingOptions { seed: Some(7), ..SamplingOptions::default() },
      ..limit(24)
    };
    let (_, inbox) = same(drafting(5, 4), &prompt(salt, 9), &options);
    assert_eq!(inbox.logprobs().len(), inbox.outcome().tokens);
  }
}

#[test]
fn a_cancel_in_the_middle_leaves_a_sound_cache() {
  let setup = Setup { batch: 8, micro_batch: 2, ..drafting(3, 5) };
  for polls in 1..30 {
    let mut bench = Bench::new(setup);
    let ticket = bench.submit(&prompt(1, 8), GenerateOptions { ignore_eos: true, ..limit(60) });
    bench.fake.with(|state| state.cancels.push((polls, ticket.cancel.clone())));
    bench.drain();
    assert_eq!(ticket.inbox.outcome().reason, FinishReason::Cancelled);
    let next = [prompt(1, 8), prompt(2, 3)].concat();
    assert_eq!(bench.run(&next, limit(12)).outcome(), solo(setup, &next, limit(12)), "after {polls} polls");
  }
}

#[test]
fn the_end_of_the_context_comes_with_the_same_token() {
  for context in 20..40 {
    let setup = Setup { context, ..drafting(7, 5) };
    let options = GenerateOptions { ignore_eos: true, ..GenerateOptions::default() };
    let (bench, inbox) = same(setup, &prompt(3, 11), &options);
    assert_eq!(inbox.outcome().reason, FinishReason::Context);
    assert!(bench.fake.with(|state| state.peak) <= context);
  }
}

#[test]
fn several_sequences_draft_together() {
  let setup = Setup { parallel: 3, batch: 24, ..drafting(4, 3) };
  let mut bench = Bench::new(setup);
  let options = GenerateOptions { ignore_eos: true, ..limit(30) };
  let tickets: Vec<_> = (0..3).map(|salt| bench.submit(&prompt(salt, 6), options.clone())).collect();
  bench.drain();
  for (salt, ticket) in (0..3).zip(&tickets) {
    assert_eq!(ticket.inbox.outcome(), solo(setup, &prompt(salt, 6), options.clone()));
    assert!(ticket.inbox.finished().usage.accepted_tokens > 0);
  }
  let sequences = |batch: &[local_inference_core::decoder::BatchToken]| {
    (0..3).filter(|sequence| batch.iter().filter(|token| token.sequence == *sequence).count() > 1).count()
  };
  assert!(bench.fake.with(|state| state.batches[3..].iter().any(|batch| sequences(batch) == 3)));
}

#[test]
fn a_full_batch_or_context_leaves_no_room_for_drafts() {
  let options = GenerateOptions { ignore_eos: true, ..limit(20) };
  let (bench, inbox) = same(Setup { batch: 1, ..drafting(0, 4) }, &prompt(1, 4), &options);
  assert_eq!(inbox.finished().usage.drafted_tokens, 0);
  assert!(bench.fake.with(|state| state.batches.iter().all(|batch| batch.len() == 1)));
  let setup = Setup { parallel: 2, context: 48, batch: 12, ..drafting(0, 6) };
  let mut bench = Bench::new(setup);
  let tickets: Vec<_> = (0..2).map(|salt| bench.submit(&prompt(salt, 6), options.clone())).collect();
  bench.drain();
  for (salt, ticket) in (0..2).zip(&tickets) {
    assert_eq!(ticket.inbox.outcome(), solo(setup, &prompt(salt, 6), options.clone()));
  }
}

#[test]
fn memory_that_cannot_go_back_does_without_drafts() {
  let options = GenerateOptions { ignore_eos: true, ..limit(20) };
  let (_, inbox) = same(Setup { memory: Memory::Recurrent, ..drafting(0, 4) }, &prompt(1, 8), &options);
  assert_eq!(inbox.finished().usage.drafted_tokens, 0);
  for window in 1..6 {
    same(Setup { memory: Memory::Window(window), ..drafting(3, 4) }, &prompt(1, 8), &options);
  }
}

#[test]
fn repetitions_are_drafted_without_a_drafter() {
  use local_inference_core::schedule::{Scheduler, Settings};
  let fake = Fake::new(Setup::default());
  let settings = Settings { speculation: Some(fixed(4)), ngram: true, ..Settings::default() };
  let mut bench = Bench { scheduler: Scheduler::new(fake.clone(), &settings), fake };
  let script: Vec<_> = ["a", "b", "ab", "é"].iter().cycle().take(40).map(|text| model::token(text)).collect();
  bench.fake.script(&prompt(1, 8), &script);
  let usage = bench.run(&prompt(1, 8), limit(40)).finished().usage;
  assert!(usage.accepted_tokens > 25, "{usage:?}");
  assert_eq!(usage.completion_tokens, 40);
}

#[test]
fn the_adaptive_window_gives_the_same_tokens() {
  for wrong_every in [0, 1, 2, 5] {
    let limits = Limits { min: 1, max: 6, adaptive: true };
    let setup = Setup { drafting: Some(Drafting { wrong_every, limits }), context: 600, ..Setup::default() };
    same(setup, &prompt(1, 8), &GenerateOptions { ignore_eos: true, ..limit(500) });
  }
}
