//! Drafts of the model's own multi-token-prediction heads through a context: answers are those of plain decoding.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use local_inference_core::cancel::CancelToken;
use local_inference_core::generate::{Event, FinishReason, Request};
use local_inference_core::options::{
  ContextFull, ContextOptions, GenerateOptions, LoadOptions, QueueOptions, SpeculationOptions, Speculative,
};
use local_inference_core::speculate::{Kind, Problem};
use local_inference_llama::model::Model;
use local_inference_llama::running::RunningContext;

use super::speculate::{window, wishes};
use crate::support::{Answer, Collector, collect, greedy, load, model_path, start, submit};

fn with_heads(name: &str) -> Model {
  start();
  let options = LoadOptions { heads: true, ..LoadOptions::default() };
  let path: PathBuf = model_path(&format!("synthetic-heads/{name}"));
  Model::load(&path, &options, &|_| {}, &CancelToken::new()).unwrap()
}

fn open(model: &Model, size: u32, parallel: u32, heads: bool) -> RunningContext {
  let options = ContextOptions {
    context_size: Some(size),
    threads: Some(1),
    parallel: Some(parallel),
    micro_batch_size: 64,
    speculation: SpeculationOptions { heads, ..SpeculationOptions::default() },
    ..ContextOptions::default()
  };
  RunningContext::open(model, &options).unwrap()
}

#[test]
fn whatever_a_request_asks_for_it_gets_with_heads_too() {
  let model = with_heads("heads-history.gguf");
  let (context, plain) = (open(&model, 2_048, 1, true), open(&model, 2_048, 1, false));
  let mut accepted = 0;
  for (name, options) in wishes() {
    let expected = collect(&submit(&plain, &model, "hello w003", options.clone())).unwrap();
    let options = GenerateOptions { speculative: window(3), ..options };
    let answer = collect(&submit(&context, &model, "hello w003", options)).unwrap();
    assert_eq!(answer.text, expected.text, "{name}");
    assert_eq!(answer.finished.reason, expected.finished.reason, "{name}");
    accepted += answer.finished.usage.accepted_tokens;
  }
  assert!(accepted > 50, "{accepted}");
}

#[test]
fn kinds_and_numbers_of_heads_are_reported() {
  let model = with_heads("heads-100.gguf");
  let context = open(&model, 2_048, 1, true);
  let info = context.info();
  assert_eq!((info.drafts_from, info.unusable_drafter.as_ref()), (Some(Kind::Heads), None));
  assert!(info.plan.drafter_bytes > 0);
  let options = GenerateOptions { speculative: window(3), ..greedy(41) };
  let usage = collect(&submit(&context, &model, "hello w003", options)).unwrap().finished.usage;
  assert_eq!((usage.drafted_tokens, usage.accepted_tokens), (30, 30));
  assert_eq!(usage.draft_windows, [0, 0, 0, 10]);
  let two = with_heads("heads-two.gguf");
  let context = open(&two, 2_048, 1, true);
  let options = GenerateOptions { speculative: window(8), ..greedy(40) };
  let usage = collect(&submit(&context, &two, "hello w003", options)).unwrap().finished.usage;
  assert!(usage.draft_windows.len() <= 3 && usage.accepted_tokens > 10, "{usage:?}");
}

#[test]
fn a_second_turn_goes_on_from_the_kept_prefix_with_heads() {
  let model = with_heads("heads-history.gguf");
  let (context, plain) = (open(&model, 2_048, 2, true), open(&model, 2_048, 1, false));
  let options = GenerateOptions { ignore_eos: true, speculative: window(4), ..greedy(40) };
  let first = collect(&submit(&context, &model, "hello w003", options.clone())).unwrap();
  let second = format!("hello w003{} w010", first.text);
  let answer = collect(&submit(&context, &model, &second, options.clone())).unwrap();
  assert!(answer.finished.usage.cached_prompt_tokens > 40, "{:?}", answer.finished.usage);
  assert!(answer.finished.usage.accepted_tokens > 0);
  let off = GenerateOptions { speculative: Speculative::Off, ..options };
  assert_eq!(answer.text, collect(&submit(&plain, &model, &second, off)).unwrap().text);
}

fn ask(
  context: &RunningContext,
  model: &Model,
  prompt: &str,
  options: GenerateOptions,
) -> (Receiver<Event>, CancelToken) {
  let (sender, receiver) = channel();
  let cancel = CancelToken::new();
  let prompt = model.tokenize(prompt, true, true).unwrap();
  context.submit(Request { prompt: prompt.into(), options, cancel: cancel.clone() }, Collector(sender));
  (receiver, cancel)
}

/// How many tokens share a decode depends on the clock, and decodes of several tokens round otherwise: where the two
/// likeliest ones are that close, the answers may part.
fn assert_same_but_for_ties(answer: &Answer, expected: &Answer, what: &str) {
  const ROUNDING: f32 = 0.006;
  let words = answer.text.split(' ').zip(expected.text.split(' ')).skip(1);
  let Some(first) = words.into_iter().position(|(a, b)| a != b) else {
    return assert_eq!(answer.text, expected.text, "{what}");
  };
  let place = expected.pieces.iter().flat_map(|piece| &piece.logprobs).nth(first).unwrap();
  let gap = place.top[0].logprob - place.top[1].logprob;
  assert!(gap < ROUNDING, "{what}: word {first} differs where the likeliest is {gap} above the next");
}

/// Requests with common beginnings that do not fit together, so that sequences are copied, cut, emptied and restored from
/// snapshots all the time; every third is cancelled.
#[test]
fn in_a_crowded_context_every_answer_is_that_of_plain_decoding() {
  for name in ["heads-history.gguf", "heads-two.gguf"] {
    let model = with_heads(name);
    let (context, plain) = (open(&model, 512, 4, true), open(&model, 512, 1, false));
    let prompt = |number: usize| {
      let common = " w011 w012 w013 w050 w051".repeat(1 + number % 3);
      format!("hello{common} w{:03} w{:03}", number % 100, (7 * number) % 100)
    };
    let options = GenerateOptions { ignore_eos: true, ..greedy(150) };
    for round in 0..3 {
      let running: Vec<_> = (0..10)
        .map(|index| {
          let number = 10 * round + index;
          let speculative = if index % 4 == 3 { Speculative::Off } else { window(1 + index % 4) };
          let options = GenerateOptions { speculative, ..options.clone() };
          (number, ask(&context, &model, &prompt(number), options))
        })
        .collect();
      for (number, (events, cancel)) in &running {
        if number % 3 == 2 {
          let _ = events.recv();
          cancel.cancel();
          context.wake();
        }
        let answer = collect(events).unwrap();
        if number % 3 != 2 {
          let options = GenerateOptions { logprobs: Some(2), ..options.clone() };
          let expected = collect(&submit(&plain, &model, &prompt(*number), options)).unwrap();
          assert_same_but_for_ties(&answer, &expected, &format!("{name}: {}", prompt(*number)));
        }
      }
    }
    let metrics = context.metrics();
    assert!(metrics.accepted_tokens > 200, "{name}: {metrics:?}");
  }
}

#[test]
fn a_shift_goes_on_past_the_end_of_the_context_with_heads() {
  let model = with_heads("heads-carry.gguf");
  let context = open(&model, 256, 2, true);
  let queue = QueueOptions { context_full: ContextFull::Shift { keep: 8 }, ..QueueOptions::default() };
  let options = GenerateOptions { queue, ignore_eos: true, speculative: window(3), ..greedy(600) };
  let answer = collect(&submit(&context, &model, "hello w003", options)).unwrap();
  assert_eq!(answer.finished.reason, FinishReason::Length);
  let words = (4..604).map(|number| format!(" w{:03}", number % 112)).collect::<Vec<_>>().concat();
  assert_eq!(answer.text, words);
  assert!(answer.finished.usage.accepted_tokens > 400, "{:?}", answer.finished.usage);
}

#[test]
fn without_usable_heads_decoding_goes_on_and_the_reason_is_named() {
  let missing = with_heads("heads-missing.gguf");
  let unloaded = load(&model_path("synthetic-heads/heads-100.gguf"));
  let none = load(&model_path("synthetic-mtp/target.gguf"));
  for model in [missing, unloaded, none] {
    let context = open(&model, 512, 1, true);
    let info = context.info();
    let found = info.unusable_drafter.as_ref().map(|it| it.problem);
    assert_eq!((found, info.drafts_from), (Some(Problem::Heads), None));
    let answer = collect(&submit(&context, &model, "hello w003", greedy(5))).unwrap();
    assert_eq!(answer.text, " w004 w005 w006 w007 w008");
  }
}
