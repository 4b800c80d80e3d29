//! Each sampling option has an effect that can be seen in the tokens.

use std::collections::HashMap;

use crate::support::{Answer, Rig, chatml, greedy};
use local_inference_core::decoder::Token;
use local_inference_core::options::{Dry, GenerateOptions, Mirostat, SamplingOptions, Xtc};

const TALE: &str = "Once upon a time";
const TOKENS: u32 = 16;

impl Rig {
  /// The tokens of a run.
  fn tokens(&self, prompt: &str, mut options: GenerateOptions) -> Vec<Token> {
    options.logprobs.get_or_insert(0);
    chosen(&self.run(prompt, options))
  }

  fn greedy(&self, prompt: &str) -> Vec<Token> {
    self.tokens(prompt, greedy(TOKENS))
  }
}

fn chosen(answer: &Answer) -> Vec<Token> {
  answer.pieces.iter().flat_map(|piece| &piece.logprobs).map(|entry| entry.chosen.token).collect()
}

/// Random choice among all tokens.
fn open_ended(seed: u32) -> SamplingOptions {
  SamplingOptions {
    temperature: 1.0,
    top_k: 0,
    top_p: 1.0,
    min_p: 0.0,
    seed: Some(seed),
    ..SamplingOptions::default()
  }
}

fn with(sampling: SamplingOptions) -> GenerateOptions {
  GenerateOptions { sampling, max_tokens: Some(TOKENS), ..GenerateOptions::default() }
}

/// Occurrences of the most frequent token.
fn most_frequent(tokens: &[Token]) -> usize {
  let mut counts = HashMap::new();
  for token in tokens {
    *counts.entry(token).or_insert(0) += 1;
  }
  counts.into_values().max().unwrap_or(0)
}

#[test]
fn temperature_zero_is_reproducible_and_independent_of_the_seed() {
  let rig = Rig::new();
  let first = rig.greedy(TALE);
  assert_eq!(first.len(), TOKENS as usize);
  for seed in [1, 2, u32::MAX - 1] {
    let mut options = greedy(TOKENS);
    options.sampling.seed = Some(seed);
    assert_eq!(rig.tokens(TALE, options), first);
  }
}

#[test]
fn a_seed_reproduces_and_another_seed_differs() {
  let rig = Rig::new();
  let first = rig.tokens(TALE, with(open_ended(7)));
  assert_eq!(rig.tokens(TALE, with(open_ended(7))), first);
  let others: Vec<_> = (8..12).map(|seed| rig.tokens(TALE, with(open_ended(seed)))).collect();
  assert!(others.iter().all(|other| *other != first), "{others:?}");
}

#[test]
fn without_a_seed_each_run_draws_one_and_reports_what_reproduces_it() {
  let rig = Rig::new();
  let unseeded = || with(SamplingOptions { seed: None, logit_bias: Vec::new(), ..open_ended(0) });
  let first = rig.run(TALE, unseeded());
  let second = rig.run(TALE, unseeded());
  assert_ne!(first.finished.usage.seed, second.finished.usage.seed);
  let again = rig.run(TALE, with(open_ended(first.finished.usage.seed)));
  assert_eq!(again.text, first.text);
}

#[test]
fn filters_at_their_tightest_are_greedy() {
  let rig = Rig::new();
  let expected = rig.greedy(TALE);
  for sampling in [
    SamplingOptions { top_k: 1, ..open_ended(3) },
    SamplingOptions { top_p: 0.0, ..open_ended(3) },
    SamplingOptions { top_p: 1e-6, ..open_ended(3) },
    SamplingOptions { min_p: 1.0, ..open_ended(3) },
  ] {
    assert_eq!(rig.tokens(TALE, with(sampling.clone())), expected, "{sampling:?}");
  }
  assert_ne!(rig.tokens(TALE, with(open_ended(3))), expected, "without a filter the choice is random");
}

#[test]
fn filters_in_between_narrow_the_choice() {
  let rig = Rig::new();
  let free = rig.tokens(TALE, with(open_ended(5)));
  for sampling in [
    SamplingOptions { top_k: 3, ..open_ended(5) },
    SamplingOptions { top_p: 0.5, ..open_ended(5) },
    SamplingOptions { min_p: 0.3, ..open_ended(5) },
    SamplingOptions { typical_p: 0.2, ..open_ended(5) },
    SamplingOptions { temperature: 0.3, ..open_ended(5) },
    SamplingOptions { xtc: Xtc { probability: 1.0, threshold: 0.05 }, ..open_ended(5) },
  ] {
    let narrowed = rig.tokens(TALE, with(sampling.clone()));
    assert_ne!(narrowed, free, "{sampling:?} changes the choice");
    assert_eq!(rig.tokens(TALE, with(sampling.clone())), narrowed, "{sampling:?} is reproducible");
  }
}

#[test]
fn top_k_chooses_among_the_most_likely_tokens_only() {
  let rig = Rig::new();
  let options = GenerateOptions { logprobs: Some(3), ..with(SamplingOptions { top_k: 3, ..open_ended(11) }) };
  let answer = rig.run(TALE, options);
  for entry in answer.pieces.iter().flat_map(|piece| &piece.logprobs) {
    assert!(entry.top.iter().any(|top| top.token == entry.chosen.token), "{entry:?}");
  }
}

#[test]
fn xtc_removes_the_most_likely_token_where_others_are_likely_too() {
  let rig = Rig::new();
  let xtc = SamplingOptions { xtc: Xtc { probability: 1.0, threshold: 0.05 }, ..open_ended(5) };
  let answer = rig.run(TALE, GenerateOptions { logprobs: Some(2), ..with(xtc) });
  let threshold = 0.05_f32.ln();
  let mut contested = 0;
  for entry in answer.pieces.iter().flat_map(|piece| &piece.logprobs) {
    if entry.top[1].logprob > threshold + 0.01 {
      contested += 1;
      assert_ne!(entry.chosen.token, entry.top[0].token, "{entry:?}");
    }
  }
  assert!(contested > 0, "no position had two likely tokens");
}

#[test]
fn a_bias_bans_a_token_and_forces_one() {
  let rig = Rig::new();
  let expected = rig.greedy(TALE);
  let biased = |bias: (Token, f32)| {
    let mut options = greedy(TOKENS);
    options.sampling.logit_bias = vec![bias];
    rig.tokens(TALE, options)
  };
  let banned = biased((expected[0], f32::NEG_INFINITY));
  assert!(!banned.contains(&expected[0]), "{banned:?}");
  let discouraged = biased((expected[0], -100.0));
  assert_eq!(discouraged, banned, "-100 is as good as a ban");
  assert_eq!(biased((expected[3], 1e6)), vec![expected[3]; TOKENS as usize]);
  assert_eq!(biased((expected[0], 0.0)), expected, "a bias of 0 changes nothing");
}

#[test]
fn penalties_reduce_repetition() {
  let rig = Rig::new();
  let favourite = rig.model.tokenize(" la", false, false).unwrap()[0];
  // Without a penalty the bias makes the model say nothing else.
  let said = |change: fn(&mut SamplingOptions)| {
    let mut options = GenerateOptions { ignore_eos: true, ..greedy(TOKENS) };
    options.sampling.logit_bias = vec![(favourite, 20.0)];
    change(&mut options.sampling);
    rig.tokens("la la la la la la la la", options).into_iter().filter(|token| *token == favourite).count()
  };
  let all = TOKENS as usize;
  assert_eq!(said(|_| {}), all);
  for change in [
    (|s| s.repetition_penalty = 3.0) as fn(&mut SamplingOptions),
    |s| s.frequency_penalty = 2.0,
    |s| (s.presence_penalty, s.repetition_penalty) = (2.0, 2.5),
    |s| (s.repetition_penalty, s.penalty_window) = (3.0, -1),
    |s| s.dry = Dry { multiplier: 5.0, ..Dry::default() },
    |s| s.dry = Dry { multiplier: 5.0, window: -1, sequence_breakers: Vec::new(), ..Dry::default() },
  ] {
    let left = said(change);
    let mut shown = SamplingOptions::default();
    change(&mut shown);
    assert!(left < all, "{left} of {all} are left by {shown:?}");
  }
  assert_eq!(said(|s| (s.repetition_penalty, s.penalty_window) = (3.0, 0)), all, "a window of 0 is off");
  assert_eq!(said(|s| s.dry = Dry { multiplier: 5.0, window: 0, ..Dry::default() }), all);
}

#[test]
fn a_presence_penalty_alone_changes_the_choice() {
  let rig = Rig::new();
  let mut options = greedy(TOKENS);
  options.sampling.presence_penalty = 2.0;
  assert_ne!(rig.tokens(TALE, options.clone()), rig.greedy(TALE));
  options.sampling.presence_penalty = -2.0;
  assert!(most_frequent(&rig.tokens(TALE, options)) >= most_frequent(&rig.greedy(TALE)));
}

#[test]
fn a_penalty_window_of_the_whole_context_reaches_the_beginning_of_the_prompt() {
  let rig = Rig::new();
  let token = rig.model.tokenize(" zebra", false, false).unwrap()[0];
  // One mention, more than the default window of 64 tokens back.
  let prompt = format!(" zebra{}", chatml(&"word ".repeat(100)));
  let chosen = |window: i32| {
    let mut options = greedy(1);
    options.sampling.logit_bias = vec![(token, 1e6)];
    options.sampling.repetition_penalty = 10.0;
    options.sampling.penalty_window = window;
    // The penalty divides the biased logit: another token as strongly biased decides.
    options.sampling.logit_bias.push((token - 1, 5e5));
    rig.tokens(&prompt, options)[0]
  };
  assert_eq!(chosen(64), token);
  assert_eq!(chosen(-1), token - 1);
}

#[test]
fn both_versions_of_mirostat_run_reproduce_and_follow_their_target() {
  let rig = Rig::new();
  for mode in [1, 2] {
    let mirostat = |tau: f32| SamplingOptions { mirostat: Mirostat { mode, tau, eta: 0.2 }, ..open_ended(9) };
    let surprise = |tau: f32| {
      let answer =
        rig.run(TALE, GenerateOptions { logprobs: Some(0), max_tokens: Some(48), ..with(mirostat(tau)) });
      let values: Vec<f32> =
        answer.pieces.iter().flat_map(|piece| &piece.logprobs).map(|entry| -entry.chosen.logprob).collect();
      values.iter().copied().map(f64::from).sum::<f64>()
        / f64::from(u32::try_from(values.len().max(1)).unwrap())
    };
    assert_eq!(rig.tokens(TALE, with(mirostat(5.0))), rig.tokens(TALE, with(mirostat(5.0))));
    assert!(surprise(1.0) < surprise(8.0), "version {mode}: a lower target is less surprising");
  }
}
