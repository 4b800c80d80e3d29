//! Every instruction-set level that this processor can run computes the same tokens.
//!
//! llama.cpp loads one ggml-cpu module a process, so each level runs in a child: this test program again, with the level
//! named in the environment and only `child_prints_its_tokens` selected.

#![allow(clippy::print_stdout, reason = "the table of levels is the record of what was tested")]

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::support::{chatml, collect, greedy, load, open, smollm2, submit};
use local_inference_core::error::ErrorCode;
use local_inference_llama::backend;

const MODULES: &str = env!("LOCAL_INFERENCE_BUILD_BACKENDS");
const CHILD: &str = "LOCAL_INFERENCE_TEST_LEVEL";
/// Set in the process that starts with a further folder of modules.
const FURTHER: &str = "LOCAL_INFERENCE_TEST_FURTHER_MODULES";
const TOKENS: u32 = 16;

/// How far apart the two most likely tokens may be, in nats, where two levels choose differently. Levels add numbers in
/// different orders, some of them in lower precision (bf16 tiles): about 0.05 on the logits of a 4-bit model.
const MARGIN: f32 = 0.3;

const PROMPTS: [&str; 3] =
  ["What is the capital of France?", "Count from one to ten in words.", "Write a sentence about the sea."];

/// One step: the token, and how far ahead of the next likely one it was.
type Step = (i32, f32);

fn child(level: &str) -> Output {
  Command::new(std::env::current_exe().unwrap())
    .args(["--ignored", "--exact", "levels::child_prints_its_tokens", "--nocapture", "--test-threads=1"])
    .env(backend::CPU_MODULE_VARIABLE, level)
    .env(CHILD, level)
    .output()
    .unwrap()
}

#[test]
#[ignore = "child of every_level_that_the_processor_can_run_chooses_the_same_tokens"]
fn child_prints_its_tokens() {
  let level = std::env::var(CHILD).unwrap();
  if let Err(error) = backend::start(&[PathBuf::from(MODULES)]) {
    println!("\nrefused {}: {error}", error.code());
    return;
  }
  assert_eq!(backend::get().unwrap().cpu_module.as_deref(), Some(level.as_str()));
  let model = load(&smollm2());
  let context = open(&model, 256);
  for prompt in PROMPTS {
    let mut options = greedy(TOKENS);
    options.logprobs = Some(2);
    let answer = collect(&submit(&context, &model, &chatml(prompt), options)).unwrap();
    let steps: Vec<String> = answer
      .pieces
      .iter()
      .flat_map(|piece| &piece.logprobs)
      .map(|entry| format!("{}:{}", entry.chosen.token, entry.top[0].logprob - entry.top[1].logprob))
      .collect();
    println!("\nsteps {}", steps.join(" "));
  }
  context.close();
}

enum Outcome {
  Ran(Vec<Vec<Step>>),
  Refused(String),
}

fn run(level: &str) -> Outcome {
  let output = child(level);
  let text = String::from_utf8_lossy(&output.stdout).into_owned();
  assert!(
    output.status.success(),
    "{level} ended with {}: {text}{}",
    output.status,
    String::from_utf8_lossy(&output.stderr)
  );
  if let Some(reason) = text.lines().find_map(|line| line.strip_prefix("refused ")) {
    return Outcome::Refused(reason.to_owned());
  }
  let step = |text: &str| {
    let (token, margin) = text.split_once(':').unwrap();
    (token.parse().unwrap(), margin.parse().unwrap())
  };
  let runs: Vec<Vec<Step>> = text
    .lines()
    .filter_map(|line| line.strip_prefix("steps "))
    .map(|line| line.split(' ').map(step).collect())
    .collect();
  assert_eq!(runs.len(), PROMPTS.len(), "{level}: {text}");
  Outcome::Ran(runs)
}

/// The margin where `other` first leaves `reference`: the smaller of the two, because either may be the near tie.
fn difference(reference: &[Step], other: &[Step]) -> Option<(usize, f32)> {
  let index = reference.iter().zip(other).position(|(a, b)| a.0 != b.0)?;
  Some((index, reference[index].1.min(other[index].1)))
}

#[test]
fn every_level_that_the_processor_can_run_chooses_the_same_tokens() {
  let levels = backend::cpu_levels(&[PathBuf::from(MODULES)]);
  assert!(levels.len() > 1, "{levels:?}");
  let mut reference: Option<(String, Vec<Vec<Step>>)> = None;
  println!("\n{:<16} outcome", "level");
  for level in &levels {
    let runs = match run(level) {
      Outcome::Refused(reason) => {
        assert!(reason.starts_with(ErrorCode::BackendUnavailable.as_str()), "{level}: {reason}");
        println!("{level:<16} refused by the processor");
        continue;
      }
      Outcome::Ran(runs) => runs,
    };
    let Some((first, expected)) = &reference else {
      println!("{level:<16} ran, is the reference");
      reference = Some((level.clone(), runs));
      continue;
    };
    let mut notes = Vec::new();
    for ((prompt, expected), found) in PROMPTS.iter().zip(expected).zip(&runs) {
      if let Some((index, margin)) = difference(expected, found) {
        assert!(margin < MARGIN, "{level} leaves {first} at token {index} of {prompt:?} by {margin} nats");
        notes.push(format!("token {index} of {prompt:?} differs by {margin:.3} nats"));
      }
    }
    let note = if notes.is_empty() { "same tokens".to_owned() } else { notes.join(", ") };
    println!("{level:<16} ran, {note}");
  }
  let (_, runs) = reference.expect("the plainest level runs on every processor");
  assert!(runs.iter().all(|run| !run.is_empty()));
  // The clear cases must not depend on near ties: the first prompt's answer is sure of every token.
  assert!(runs[0].iter().all(|step| step.1 > 0.0), "{:?}", runs[0]);
}

#[test]
fn an_unknown_level_is_unavailable_and_the_known_ones_are_listed() {
  for level in ["nonsense", "../x64", "x64.so"] {
    let Outcome::Refused(reason) = run(level) else { panic!("{level} cannot run") };
    assert!(reason.starts_with("BACKEND_UNAVAILABLE"), "{reason}");
    assert!(reason.contains("x64") && reason.contains("haswell"), "{reason}");
  }
}

#[test]
#[ignore = "child of modules_of_a_further_folder_are_loaded_or_named_with_the_reason"]
fn child_starts_with_two_folders() {
  let further = PathBuf::from(std::env::var(FURTHER).unwrap());
  let started = backend::start(&[PathBuf::from(MODULES), further.clone()]).unwrap();
  let failed: Vec<_> = started.failures.iter().map(|failure| failure.module.as_str()).collect();
  assert_eq!(failed, ["broken"]);
  assert!(started.failures[0].reason.contains("libggml-broken.so"), "{}", started.failures[0].reason);
  assert!(started.cpu_module.is_some());
  assert_eq!(backend::devices().iter().filter(|device| device.kind == "cpu").count(), 1);
  assert_eq!(started.folders, [PathBuf::from(MODULES), further]);
}

#[test]
fn modules_of_a_further_folder_are_loaded_or_named_with_the_reason() {
  let further = std::env::temp_dir().join(format!("local-inference-{}-modules", std::process::id()));
  std::fs::create_dir_all(&further).unwrap();
  std::fs::write(further.join("libggml-broken.so"), "no library").unwrap();
  // A second module for the processor, which would be a second device.
  let level = backend::cpu_levels(&[PathBuf::from(MODULES)]).swap_remove(0);
  let name = format!("libggml-cpu-{level}.so");
  std::fs::copy(PathBuf::from(MODULES).join(&name), further.join(&name)).unwrap();
  let output = Command::new(std::env::current_exe().unwrap())
    .args(["--ignored", "--exact", "levels::child_starts_with_two_folders", "--test-threads=1"])
    .env(FURTHER, &further)
    .output()
    .unwrap();
  std::fs::remove_dir_all(&further).unwrap();
  assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
