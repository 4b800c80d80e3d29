//! Speculation through a context: everything a request may ask for gives what it gives without.

use std::path::PathBuf;

use local_inference_core::options::{ContextOptions, GenerateOptions, SpeculationOptions, Speculative};
use local_inference_core::speculate::{Kind, Limits, Problem};
use local_inference_llama::model::Model;
use local_inference_llama::running::RunningContext;

use crate::support::{collect, gbnf, greedy, load, model_path, smollm2, submit};

fn synthetic(name: &str) -> PathBuf {
  model_path(&format!("synthetic-mtp/{name}"))
}

fn open(model: &Model, drafter: Option<PathBuf>, ngram: bool, parallel: u32) -> RunningContext {
  let options = ContextOptions {
    context_size: Some(2_048),
    threads: Some(1),
    parallel: Some(parallel),
    speculation: SpeculationOptions { drafter, ngram, ..SpeculationOptions::default() },
    ..ContextOptions::default()
  };
  RunningContext::open(model, &options).unwrap()
}

pub(super) fn window(window: usize) -> Speculative {
  Speculative::Within(Limits { min: window, max: window, adaptive: false })
}

/// What a request may ask for, one thing at a time.
pub(super) fn wishes() -> Vec<(&'static str, GenerateOptions)> {
  let of = |change: &dyn Fn(&mut GenerateOptions)| {
    let mut options = greedy(60);
    options.ignore_eos = true;
    change(&mut options);
    options
  };
  vec![
    ("greedy", of(&|_| {})),
    ("penalties", of(&|it| it.sampling.repetition_penalty = 1.3)),
    ("dry", of(&|it| it.sampling.dry.multiplier = 0.8)),
    ("stop", of(&|it| it.text.stops = vec![" w1".to_owned()])),
    ("minimum", of(&|it| (it.min_tokens, it.ignore_eos) = (20, false))),
    ("logprobs", of(&|it| it.logprobs = Some(2))),
    ("bias", of(&|it| it.sampling.logit_bias = vec![(400, 5.0), (401, f32::NEG_INFINITY)])),
    ("temperature", of(&|it| (it.sampling.temperature, it.sampling.seed) = (0.7, Some(5)))),
    ("grammar", {
      let mut options = of(&|it| it.ignore_eos = false);
      options.constraint = Some(gbnf("root ::= (\" w0\" [0-9] [0-9])+"));
      options
    }),
  ]
}

#[test]
fn whatever_a_request_asks_for_it_gets_with_drafts_too() {
  let model = load(&synthetic("history.gguf"));
  let contexts = [
    open(&model, Some(synthetic("drafter-history.gguf")), false, 1),
    open(&model, Some(synthetic("target.gguf")), false, 1),
    open(&model, None, true, 1),
  ];
  let plain = open(&model, None, false, 1);
  let mut accepted = [0; 3];
  for (name, options) in wishes() {
    let expected = collect(&submit(&plain, &model, "hello w003", options.clone())).unwrap();
    for (context, accepted) in contexts.iter().zip(&mut accepted) {
      let options = GenerateOptions { speculative: window(3), ..options.clone() };
      let answer = collect(&submit(context, &model, "hello w003", options)).unwrap();
      let kind = context.info().drafts_from;
      assert_eq!(answer.text, expected.text, "{name} with {kind:?}");
      assert_eq!(answer.finished.reason, expected.finished.reason, "{name} with {kind:?}");
      let usage = answer.finished.usage;
      assert_eq!(usage.completion_tokens, expected.finished.usage.completion_tokens, "{name} with {kind:?}");
      let chosen = |pieces: &[local_inference_core::generate::Piece]| {
        pieces.iter().flat_map(|piece| &piece.logprobs).map(|it| it.chosen.token).collect::<Vec<_>>()
      };
      assert_eq!(chosen(&answer.pieces), chosen(&expected.pieces), "{name} with {kind:?}");
      *accepted += usage.accepted_tokens;
    }
  }
  assert!(accepted[0] > 50 && accepted[1] > 50, "{accepted:?}");
}

#[test]
fn requests_side_by_side_draft_together() {
  let model = load(&synthetic("history.gguf"));
  let prompts = ["hello w003", "w050", "quite another beginning w077 w078", "x", "w001 w002 w003", "end"];
  let plain = open(&model, None, false, 1);
  let context = open(&model, Some(synthetic("drafter-history.gguf")), false, 4);
  let options = GenerateOptions { ignore_eos: true, ..greedy(80) };
  let drafting = GenerateOptions { speculative: window(3), ..options.clone() };
  let pending: Vec<_> =
    prompts.iter().map(|prompt| submit(&context, &model, prompt, drafting.clone())).collect();
  for (prompt, events) in prompts.iter().zip(&pending) {
    let answer = collect(events).unwrap();
    let expected = collect(&submit(&plain, &model, prompt, options.clone())).unwrap();
    assert_eq!(answer.text, expected.text, "{prompt}");
    assert!(answer.finished.usage.accepted_tokens > 0, "{prompt}: {:?}", answer.finished.usage);
  }
}

#[test]
fn a_second_turn_goes_on_from_the_kept_prefix() {
  let model = load(&synthetic("history.gguf"));
  let context = open(&model, Some(synthetic("drafter-history.gguf")), false, 2);
  let plain = open(&model, None, false, 1);
  let options = GenerateOptions { ignore_eos: true, speculative: window(4), ..greedy(40) };
  let first = collect(&submit(&context, &model, "hello w003", options.clone())).unwrap();
  let second = format!("hello w003{} w010", first.text);
  let answer = collect(&submit(&context, &model, &second, options.clone())).unwrap();
  assert!(answer.finished.usage.cached_prompt_tokens > 40, "{:?}", answer.finished.usage);
  assert!(answer.finished.usage.accepted_tokens > 0);
  let off = GenerateOptions { speculative: Speculative::Off, ..options };
  assert_eq!(answer.text, collect(&submit(&plain, &model, &second, off)).unwrap().text);
}

#[test]
fn a_drafter_that_cannot_be_used_is_named_and_decoding_goes_on() {
  let model = load(&synthetic("target.gguf"));
  for (drafter, problem) in [
    (synthetic("drafter-foreign-words.gguf"), Problem::Vocabulary),
    (synthetic("drafter-larger-vocabulary.gguf"), Problem::Vocabulary),
    (synthetic("drafter-other-width.gguf"), Problem::Width),
    (synthetic("target.gguf"), Problem::SameFile),
    (synthetic("target.gguf").with_file_name("missing.gguf"), Problem::NotFound),
    (smollm2(), Problem::Vocabulary),
  ] {
    let context = open(&model, Some(drafter.clone()), false, 1);
    let info = context.info();
    let found = info.unusable_drafter.as_ref().map(|it| it.problem);
    assert_eq!((found, info.drafts_from), (Some(problem), None), "{}", drafter.display());
    let answer = collect(&submit(&context, &model, "hello w003", greedy(5))).unwrap();
    assert_eq!(answer.text, " w004 w005 w006 w007 w008");
  }
}

#[test]
fn kinds_and_numbers_are_reported() {
  let model = load(&synthetic("target.gguf"));
  let context = open(&model, Some(synthetic("drafter-100.gguf")), false, 1);
  assert_eq!(context.info().drafts_from, Some(Kind::Assistant));
  let options = GenerateOptions { speculative: window(3), ..greedy(41) };
  let usage = collect(&submit(&context, &model, "hello w003", options)).unwrap().finished.usage;
  // The first token comes with the prompt; ten steps of three drafted tokens give forty.
  assert_eq!((usage.drafted_tokens, usage.accepted_tokens), (30, 30));
  assert_eq!(usage.draft_windows, [0, 0, 0, 10]);
  assert!(usage.plain_rate > 0.0);
  let metrics = context.metrics();
  assert_eq!((metrics.drafted_tokens, metrics.accepted_tokens), (30, 30));
}
