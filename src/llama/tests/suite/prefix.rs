//! The beginning of a prompt is evaluated once, whoever sent it, and reuse changes no token: for every kind of memory.

use crate::support::reuse::{Subject, cached, options, run, tokens, with_queue};
use crate::support::{model_path, optional_model, smollm2, tiny};
use local_inference_core::decoder::Token;
use local_inference_core::options::{ContextOptions, GenerateOptions, QueueOptions};
use local_inference_llama::running::RunningContext;

const ROOMY: u64 = 256 << 20;

fn joined(parts: &[&[Token]]) -> Vec<Token> {
  parts.concat()
}

fn prewarm() -> GenerateOptions {
  with_queue(1, QueueOptions { prewarm: true, ..QueueOptions::default() })
}

/// Repetitions, continuations and prompts with a common beginning, all of which must find it and say what they say cold.
fn check(name: &str, subject: &Subject, system: usize, parallel: u32) {
  let context = subject.open(1024, parallel, ROOMY);
  let common = subject.prompt(1, system);
  let prompts: Vec<_> = (2..5).map(|seed| joined(&[&common, &subject.prompt(seed, 20)])).collect();
  let first: Vec<_> = prompts.iter().map(|prompt| run(&context, prompt, options(12))).collect();
  for (prompt, answer) in prompts.iter().zip(&first) {
    subject.assert_same(name, &subject.cold(prompt, 12), answer);
  }
  // The second one shows where they branch off, the third one starts there; memory that can go back needs no second.
  assert_eq!(cached(&first[0]), 0, "{name}");
  assert!(cached(&first[2]) >= system, "{name}: {} of {system} tokens", cached(&first[2]));

  let again = run(&context, &prompts[0], options(12));
  assert_eq!(cached(&again), prompts[0].len() - 1, "{name}: a repetition");
  subject.assert_same(name, &first[0], &again);

  // What was sampled last is not evaluated.
  let said = tokens(&again);
  let turn = joined(&[&prompts[0], &said[..said.len() - 1], &subject.prompt(9, 10)]);
  let next = run(&context, &turn, options(12));
  assert!(cached(&next) >= prompts[0].len(), "{name}: {} cached of a next turn", cached(&next));
  subject.assert_same(name, &subject.cold(&turn, 12), &next);
  context.close();
}

#[test]
fn llama_reuses_beginnings() {
  let subject = Subject::real(&smollm2());
  check("SmolLM2, one sequence", &subject, 60, 1);
  check("SmolLM2, four sequences", &subject, 60, 4);
  check("tiny", &Subject::real(&tiny()), 90, 2);
}

#[test]
fn qwen2_reuses_beginnings() {
  let path = optional_model("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "qwen2.5-coder-0.5b");
  let Some(path) = path else { return };
  check("Qwen 2.5", &Subject::real(&path), 40, 2);
}

#[test]
fn gemma3_reuses_beginnings() {
  let Some(subject) = Subject::gemma3() else { return };
  check("Gemma 3, whole windows", &subject, 60, 2);
  check("Gemma 3, trimmed windows", &subject.trimmed(), 60, 2);
}

#[test]
fn gemma3_reuses_a_beginning_that_is_longer_than_its_window() {
  let Some(subject) = Subject::gemma3().map(Subject::trimmed) else { return };
  let context = subject.open(1024, 1, ROOMY);
  let prompt = subject.prompt(3, 600);
  let first = run(&context, &prompt, options(8));
  run(&context, &subject.prompt(4, 30), options(4));
  let again = run(&context, &prompt, options(8));
  assert_eq!(cached(&again), 599);
  subject.assert_same("Gemma 3, 600 tokens", &first, &again);
  context.close();
}

#[test]
fn gemma4_reuses_beginnings_longer_than_its_window() {
  let path = model_path("synthetic-mtp/history.gguf");
  for parallel in [1, 3] {
    check("Gemma 4, whole windows", &Subject::synthetic(&path), 150, parallel);
    check("Gemma 4, trimmed windows", &Subject::synthetic(&path).trimmed(), 150, parallel);
  }
}

#[test]
fn recurrent_and_hybrid_models_reuse_beginnings() {
  for name in ["mamba", "jamba"] {
    let subject = Subject::synthetic(&model_path(&format!("synthetic-recurrent/{name}.gguf")));
    for parallel in [1, 3] {
      check(name, &subject, 90, parallel);
    }
  }
}

#[test]
fn a_prewarmed_beginning_is_there_for_the_first_request_that_has_it() {
  let all = [
    ("tiny", Subject::real(&tiny())),
    ("Gemma 4", Subject::synthetic(&model_path("synthetic-mtp/history.gguf")).trimmed()),
    ("mamba", Subject::synthetic(&model_path("synthetic-recurrent/mamba.gguf"))),
    ("jamba", Subject::synthetic(&model_path("synthetic-recurrent/jamba.gguf"))),
  ];
  for (name, subject) in all {
    let context = subject.open(1024, 2, ROOMY);
    let system = subject.prompt(1, 100);
    let warm = run(&context, &system, prewarm());
    assert_eq!((warm.finished.usage.completion_tokens, warm.text.as_str()), (0, ""), "{name}");
    // Others come and go.
    for seed in 20..24 {
      run(&context, &subject.prompt(seed, 40), options(3));
    }
    for seed in 2..5 {
      let prompt = joined(&[&system, &subject.prompt(seed, 15)]);
      let answer = run(&context, &prompt, options(8));
      // Texts may begin alike.
      assert!((100..103).contains(&cached(&answer)), "{name}: {}", cached(&answer));
      subject.assert_same(name, &subject.cold(&prompt, 8), &answer);
    }
    let metrics = context.metrics();
    assert!(metrics.cache_entries > 0 && metrics.hits >= 3, "{name}: {metrics:?}");
    context.close();
  }
}

#[test]
fn without_a_prefix_cache_only_sequences_are_reused() {
  let subject = Subject::real(&tiny());
  let context = subject.open(1024, 1, 0);
  let prompt = subject.prompt(1, 60);
  run(&context, &prompt, options(3));
  assert_eq!(cached(&run(&context, &prompt, options(3))), 59);
  run(&context, &subject.prompt(2, 60), options(3));
  assert!(cached(&run(&context, &prompt, options(3))) < 3);
  context.close();
}

#[test]
fn a_sliding_window_goes_back_exactly_as_far_as_it_remembers() {
  let subject = Subject::synthetic(&model_path("synthetic-mtp/history.gguf")).trimmed();
  // 256 cells for windows of 32.
  let options_of = ContextOptions { micro_batch_size: 64, ..subject.options(1024, 1, 0) };
  let context = RunningContext::open(&subject.model, &options_of).unwrap();
  let long = subject.prompt(1, 330);
  let (mut back, mut again) = (0, 0);
  for length in (60..150).step_by(3) {
    run(&context, &long, options(1));
    let prompt = joined(&[&long[..length], &subject.prompt(2, 6)]);
    let answer = run(&context, &prompt, options(6));
    subject.assert_same(&format!("back to {length}"), &subject.cold(&prompt, 6), &answer);
    if cached(&answer) > 0 {
      assert!(cached(&answer) >= length);
      back += 1;
    } else {
      again += 1;
    }
  }
  assert!(back > 3 && again > 3, "{back} times back, {again} times from the beginning");
  context.close();
}
