//! What ends a generation, what it reports of probabilities, and grammars.

use crate::support::{Rig, chatml, collect, gbnf, greedy, load, open, smollm2, submit};
use local_inference_core::error::ErrorCode;
use local_inference_core::generate::FinishReason;
use local_inference_core::options::{GenerateOptions, SamplingOptions};

impl Rig {
  #[track_caller]
  fn refuses(&self, options: GenerateOptions, code: ErrorCode) -> String {
    let error = self.try_run("Say yes or no:", options).expect_err("the options cannot be met");
    assert_eq!(error.code(), code, "{error}");
    error.to_string()
  }
}

fn grammar(text: &str) -> GenerateOptions {
  let mut options = greedy(16);
  options.constraint = Some(gbnf(text));
  options
}

#[test]
fn max_tokens_ends_with_length_after_exactly_that_many() {
  let rig = Rig::new();
  for limit in [1, 2, 17] {
    let answer = rig.run("Once upon a time", greedy(limit));
    assert_eq!(answer.finished.reason, FinishReason::Length);
    assert_eq!(answer.finished.usage.completion_tokens, limit as usize);
  }
}

#[test]
fn min_tokens_keeps_the_model_from_ending_early() {
  let rig = Rig::new();
  let prompt = chatml("Say: ok");
  let natural = rig.run(&prompt, greedy(100));
  assert_eq!(natural.finished.reason, FinishReason::Stop);
  let length = natural.finished.usage.completion_tokens;
  let min = u32::try_from(length).unwrap() + 5;
  let longer = rig.run(&prompt, GenerateOptions { min_tokens: min, ..greedy(100) });
  assert!(longer.finished.usage.completion_tokens >= min as usize);
  assert!(longer.text.starts_with(&natural.text), "{:?} before {:?}", longer.text, natural.text);
}

#[test]
fn ignoring_the_end_token_runs_to_the_limit() {
  let rig = Rig::new();
  let answer = rig.run(&chatml("Say: ok"), GenerateOptions { ignore_eos: true, ..greedy(60) });
  assert_eq!(answer.finished.reason, FinishReason::Length);
  assert_eq!(answer.finished.usage.completion_tokens, 60);
  assert!(!answer.text.contains("<|im_end|>"), "{}", answer.text);
}

#[test]
fn a_stop_string_ends_the_text_before_it() {
  let rig = Rig::new();
  let prompt = "1, 2, 3, 4,";
  let whole = rig.run(prompt, greedy(24)).text;
  let stop = &whole[whole.char_indices().nth(7).unwrap().0..][..3];
  let mut options = greedy(24);
  options.text.stops = vec!["never to be seen".to_owned(), stop.to_owned()];
  let answer = rig.run(prompt, options);
  assert_eq!(answer.text, whole[..whole.find(stop).unwrap()]);
  assert_eq!((answer.finished.reason, answer.finished.stop.as_deref()), (FinishReason::Stop, Some(stop)));
}

#[test]
fn the_context_ends_a_generation_that_fills_it() {
  let model = load(&smollm2());
  let context = open(&model, 256);
  let answer =
    collect(&submit(&context, &model, "la la la", GenerateOptions { ignore_eos: true, ..greedy(10_000) }));
  let answer = answer.unwrap();
  assert_eq!(answer.finished.reason, FinishReason::Context);
  let usage = &answer.finished.usage;
  let size = context.info().context_size as usize;
  assert!(
    (size..=size + 1).contains(&(usage.prompt_tokens + usage.completion_tokens)),
    "{usage:?} of {size}"
  );
  let long = "word ".repeat(300);
  let error = collect(&submit(&context, &model, &long, greedy(1))).unwrap_err();
  assert_eq!(error.code(), ErrorCode::ContextOverflow);
  context.close();
}

#[test]
fn log_probabilities_are_ordered_finite_and_add_up_to_at_most_one() {
  let rig = Rig::new();
  for (temperature, count) in [(0.0, 20), (1.0, 20), (0.0, 1), (0.0, 0)] {
    let sampling = SamplingOptions { temperature, seed: Some(4), ..SamplingOptions::default() };
    let options = GenerateOptions { logprobs: Some(count), sampling, ..greedy(12) };
    let answer = rig.run("Once upon a time", options);
    let entries: Vec<_> = answer.pieces.iter().flat_map(|piece| &piece.logprobs).collect();
    assert_eq!(entries.len(), answer.finished.usage.completion_tokens);
    for entry in entries {
      assert_eq!(entry.top.len(), count as usize);
      assert!(entry.top.windows(2).all(|pair| pair[0].logprob >= pair[1].logprob), "{entry:?}");
      assert!(entry.top.iter().chain([&entry.chosen]).all(|it| it.logprob.is_finite() && it.logprob <= 0.0));
      let sum: f32 = entry.top.iter().map(|it| it.logprob.exp()).sum();
      assert!(sum <= 1.0 + 1e-4, "{sum}");
      if temperature == 0.0 && count > 0 {
        assert_eq!(entry.top[0], entry.chosen, "the greedy choice is the most likely token");
      }
    }
  }
}

#[test]
fn log_probabilities_are_the_models_own_whatever_the_sampler_does() {
  let rig = Rig::new();
  let plain = rig.run("Once upon a time", GenerateOptions { logprobs: Some(5), ..greedy(1) });
  let mut options = GenerateOptions { logprobs: Some(5), min_tokens: 1, ..greedy(1) };
  let second = plain.pieces[0].logprobs[0].top[1].token;
  options.sampling.logit_bias = vec![(second, 1e6)];
  let biased = rig.run("Once upon a time", options);
  assert_eq!(biased.pieces[0].logprobs[0].top, plain.pieces[0].logprobs[0].top);
  assert_eq!(biased.pieces[0].logprobs[0].chosen, plain.pieces[0].logprobs[0].top[1]);
}

#[test]
fn a_grammar_decides_what_can_be_said() {
  let rig = Rig::new();
  for (text, said) in
    [("root ::= \"yes\" | \"no\"", vec!["yes", "no"]), ("root ::= \"maybe\"", vec!["maybe"])]
  {
    let answer = rig.run("Is water wet?", grammar(text));
    assert!(said.contains(&answer.text.as_str()), "{}", answer.text);
    assert_eq!(answer.finished.reason, FinishReason::Stop);
  }
  let digits = rig.run("A number:", grammar("root ::= [0-9] [0-9] [0-9]"));
  assert!(digits.text.len() == 3 && digits.text.chars().all(|c| c.is_ascii_digit()), "{}", digits.text);
  let mut random = grammar("root ::= (\"a\" | \"b\")+ \"!\"");
  random.sampling.temperature = 2.0;
  random.max_tokens = Some(200);
  let answer = rig.run("Sing:", random);
  assert!(answer.text.chars().all(|c| "ab!".contains(c)), "{}", answer.text);
}

#[test]
fn a_grammar_that_does_not_parse_is_invalid() {
  let rig = Rig::new();
  for text in [
    "root ::= \"unclosed",
    "root ::= missing",
    "no rule at all",
    "other ::= \"x\"",
    "root ::= [a-",
    "root ::= \"a\"{99999}",
    "root ::= (\"a\"",
    "%llguidance {}",
  ] {
    let message = rig.refuses(grammar(text), ErrorCode::GrammarInvalid);
    assert!(message.contains("grammar"), "{text}: {message}");
  }
}

#[test]
fn left_recursion_is_invalid_and_named() {
  let rig = Rig::new();
  for text in [
    "root ::= root \"a\"",
    "root ::= root \"a\" | \"b\"",
    "root ::= a\na ::= b\nb ::= a \"x\"",
    "root ::= empty root \"x\" | \"y\"\nempty ::= \"\"",
    "root ::= (root)",
  ] {
    let message = rig.refuses(grammar(text), ErrorCode::GrammarInvalid);
    assert!(message.contains("left recursion"), "{text}: {message}");
  }
}

#[test]
fn constraints_that_leave_no_token_are_errors_and_the_context_goes_on() {
  let rig = Rig::new();
  let every: Vec<_> =
    (0..rig.model.vocabulary_size()).map(|token| (token.cast_signed(), f32::NEG_INFINITY)).collect();
  for temperature in [0.0, 1.0] {
    let mut banned = greedy(4);
    banned.sampling.temperature = temperature;
    banned.sampling.logit_bias.clone_from(&every);
    assert!(rig.refuses(banned.clone(), ErrorCode::InvalidInput).contains("logitBias"));
    for mode in [1, 2] {
      banned.sampling.mirostat.mode = mode;
      rig.refuses(banned.clone(), ErrorCode::InvalidInput);
    }
  }
  let mut foreign = grammar("root ::= [a-c]");
  foreign.sampling.logit_bias = every;
  foreign.sampling.logit_bias[0].1 = 0.0;
  assert!(rig.refuses(foreign, ErrorCode::GrammarInvalid).contains("logitBias"));
  assert_eq!(rig.run("Is water wet?", grammar("root ::= \"yes\"")).text, "yes");
}

#[test]
fn an_answer_that_a_grammar_completes_ends_whatever_forbids_to_end_it() {
  let rig = Rig::new();
  for text in ["root ::= \"yes\"", "root ::= [a-c]"] {
    for (min_tokens, ignore_eos) in [(0, true), (8, false)] {
      for logprobs in [None, Some(1)] {
        let options = GenerateOptions { min_tokens, ignore_eos, logprobs, ..grammar(text) };
        let answer = rig.run("Is water wet?", options);
        assert_eq!(answer.finished.reason, FinishReason::Stop);
        assert!(["yes", "a", "b", "c"].contains(&answer.text.as_str()), "{}", answer.text);
      }
    }
  }
}
