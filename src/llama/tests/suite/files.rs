//! Loading: what is no model, what is one in an unusual place or form, and what loading reports.

#![allow(clippy::print_stdout, reason = "a skipped check says why")]

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::gguf::Parts;
use crate::support::{chatml, collect, greedy, load, minilm, open, skip, smollm2, start, submit, tiny};
use local_inference_core::cancel::CancelToken;
use local_inference_core::error::{EngineError, ErrorCode};
use local_inference_core::options::{ContextOptions, LoadOptions};
use local_inference_llama::embedder::{Embedder, EmbedderOptions};
use local_inference_llama::model::Model;
use local_inference_llama::running::RunningContext;

/// A folder of this test, removed at its end.
struct Folder(PathBuf);

impl Folder {
  fn new(name: &str) -> Self {
    let path = std::env::temp_dir().join(format!("local-inference-{}-{name}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    Self(path)
  }

  fn file(&self, name: &str, content: &[u8]) -> PathBuf {
    let path = self.0.join(name);
    fs::write(&path, content).unwrap();
    path
  }
}

impl Drop for Folder {
  fn drop(&mut self) {
    let _ = fs::remove_dir_all(&self.0);
  }
}

fn try_load(path: &Path) -> Result<Model, EngineError> {
  start();
  Model::load(path, &LoadOptions::default(), &|_| {}, &CancelToken::new())
}

#[track_caller]
fn refused(path: &Path, code: ErrorCode) -> String {
  let error = try_load(path).err().unwrap_or_else(|| panic!("{} is no model", path.display()));
  assert_eq!(error.code(), code, "{error}");
  error.to_string()
}

#[test]
fn what_is_no_model_is_refused_by_name_and_reason() {
  let folder = Folder::new("kinds");
  let missing = refused(&folder.0.join("missing.gguf"), ErrorCode::ModelNotFound);
  assert!(missing.contains("missing.gguf"), "{missing}");
  refused(&tiny().join("below-a-file.gguf"), ErrorCode::ModelNotFound);
  assert!(refused(&folder.0, ErrorCode::ModelInvalid).contains("directory"));
  refused(&folder.file("empty.gguf", b""), ErrorCode::ModelInvalid);
  refused(
    &folder.file("text.gguf", b"Just some text that is long enough to be read as a header.\n"),
    ErrorCode::ModelInvalid,
  );
  let page = folder.file("page.gguf", b"<!DOCTYPE html>\n<html><body>Sign in to continue</body></html>\n");
  let message = refused(&page, ErrorCode::ModelInvalid);
  assert!(message.contains("page.gguf") && message.contains("web page"), "{message}");
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_refused() {
  use std::os::unix::fs::PermissionsExt;
  let folder = Folder::new("secret");
  let path = folder.file("secret.gguf", &fs::read(tiny()).unwrap());
  fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
  if fs::File::open(&path).is_ok() {
    skip("this user (root?) may read every file");
    return;
  }
  let message = refused(&path, ErrorCode::ModelInvalid);
  assert!(message.contains("cannot be read"), "{message}");
}

#[test]
fn a_truncated_file_is_invalid_wherever_it_ends() {
  let folder = Folder::new("truncated");
  let whole = fs::read(tiny()).unwrap();
  for step in 0..100 {
    let length = whole.len() * step / 100;
    let path = folder.file("cut.gguf", &whole[..length]);
    refused(&path, ErrorCode::ModelInvalid);
  }
  refused(&folder.file("cut.gguf", &whole[..whole.len() - 1]), ErrorCode::ModelInvalid);
  try_load(&folder.file("whole.gguf", &whole)).unwrap();
}

#[test]
fn an_unknown_architecture_is_unsupported_and_named() {
  let folder = Folder::new("unknown");
  let path = folder.0.join("future.gguf");
  Parts::read(&tiny()).write_as(&path, "nextgen");
  let message = refused(&path, ErrorCode::ModelUnsupported);
  assert!(message.contains("nextgen"), "{message}");
}

#[test]
fn a_split_model_loads_from_its_first_file_and_needs_its_sibling() {
  let folder = Folder::new("split");
  let [first, second] = Parts::read(&tiny()).write_split(&folder.0, "model");
  let split = try_load(&first).unwrap();
  assert_eq!(split.header().files, [first.clone(), second.clone()]);
  assert_eq!(split.header().tensor_count, load(&tiny()).header().tensor_count);
  let say = |model: &Model| {
    let context = open(model, 128);
    let text = collect(&submit(&context, model, "def add(", greedy(8))).unwrap().text;
    context.close();
    text
  };
  assert_eq!(say(&split), say(&load(&tiny())));
  let message = refused(&second, ErrorCode::ModelInvalid);
  assert!(message.contains("first file"), "{message}");
  fs::remove_file(&second).unwrap();
  let message = refused(&first, ErrorCode::ModelNotFound);
  assert!(message.contains("00002-of-00002"), "{message}");
}

#[test]
fn a_path_may_have_spaces_and_letters_of_any_alphabet() {
  let folder = Folder::new("пространство 空間");
  let path = folder.file("mein größtes モデル 🦀.gguf", &fs::read(tiny()).unwrap());
  assert_eq!(try_load(&path).unwrap().header().architecture, load(&tiny()).header().architecture);
}

#[test]
fn models_do_not_do_each_others_work() {
  let error = RunningContext::open(&load(&minilm()), &ContextOptions::default()).err().unwrap();
  assert_eq!(error.code(), ErrorCode::Unsupported);
  assert!(error.to_string().contains("bert"), "{error}");
  let error = Embedder::open(&load(&tiny()), &EmbedderOptions::default()).err().unwrap();
  assert_eq!(error.code(), ErrorCode::Unsupported, "{error}");
}

#[test]
fn a_model_that_does_not_fit_the_memory_is_refused_unless_told_otherwise() {
  start();
  let options = LoadOptions { memory_headroom: Some(1 << 50), ..LoadOptions::default() };
  let error = Model::load(&tiny(), &options, &|_| {}, &CancelToken::new()).err().unwrap();
  assert_eq!(error.code(), ErrorCode::OutOfMemory);
  assert!(error.to_string().contains("MiB"), "{error}");
  let forced = LoadOptions { ignore_memory_limit: true, ..options };
  Model::load(&tiny(), &forced, &|_| {}, &CancelToken::new()).unwrap();
}

#[test]
fn a_context_beyond_the_training_or_the_memory_is_refused() {
  let model = load(&tiny());
  let trained = model.header().context_length;
  let beyond = ContextOptions { context_size: Some(trained * 2), ..ContextOptions::default() };
  let error = RunningContext::open(&model, &beyond).err().unwrap();
  assert_eq!(error.code(), ErrorCode::InvalidInput, "{error}");
  assert!(error.to_string().contains(&trained.to_string()), "{error}");
  let greedy = ContextOptions { memory_headroom: Some(1 << 50), ..ContextOptions::default() };
  assert_eq!(RunningContext::open(&model, &greedy).err().unwrap().code(), ErrorCode::OutOfMemory);
}

#[test]
fn progress_rises_from_nothing_to_one() {
  start();
  let seen = RefCell::new(Vec::new());
  Model::load(&smollm2(), &LoadOptions::default(), &|part| seen.borrow_mut().push(part), &CancelToken::new())
    .unwrap();
  let seen = seen.into_inner();
  assert!(seen.len() > 2, "{seen:?}");
  assert!(seen.windows(2).all(|pair| pair[0] <= pair[1]), "{seen:?}");
  assert!(seen.iter().all(|part| (0.0..=1.0).contains(part)), "{seen:?}");
  assert!((seen.last().unwrap() - 1.0).abs() < f32::EPSILON, "{seen:?}");
}

#[test]
fn a_load_is_cancelled_at_the_first_progress_or_before() {
  start();
  for at in [0_usize, 1, 5] {
    let cancel = CancelToken::new();
    let calls = RefCell::new(0);
    let progress = |_| {
      *calls.borrow_mut() += 1;
      if *calls.borrow() >= at {
        cancel.cancel();
      }
    };
    if at == 0 {
      cancel.cancel();
    }
    let error = Model::load(&smollm2(), &LoadOptions::default(), &progress, &cancel).err().unwrap();
    assert_eq!(error.code(), ErrorCode::Cancelled, "{error}");
    assert!(calls.into_inner() <= at.max(1), "nothing goes on after the cancel");
  }
  try_load(&smollm2()).unwrap();
}

/// Resident bytes of this process.
fn resident() -> Option<u64> {
  let pages: u64 = fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
  Some(pages * 4096)
}

/// Set in the process that loads again and again: beside the other tests its size would be theirs.
const RELOADS: &str = "LOCAL_INFERENCE_TEST_RELOADS";

#[test]
fn loading_and_dropping_again_and_again_leaks_nothing_noticeable() {
  let child = Command::new(std::env::current_exe().unwrap())
    .args(["--ignored", "--exact", "files::child_loads_again_and_again", "--nocapture", "--test-threads=1"])
    .env(RELOADS, "20")
    .output()
    .unwrap();
  let said = String::from_utf8_lossy(&child.stdout);
  assert!(child.status.success(), "{said}{}", String::from_utf8_lossy(&child.stderr));
  if said.contains("skipped:") {
    skip("the system does not tell the resident size");
    return;
  }
  let grown: u64 = said.lines().find_map(|line| line.strip_prefix("grown ")?.parse().ok()).unwrap();
  // Each round holds more than 5 MB while it lasts.
  assert!(grown < 20 << 20, "{} KiB more than before", grown >> 10);
}

#[test]
#[ignore = "child of loading_and_dropping_again_and_again_leaks_nothing_noticeable"]
fn child_loads_again_and_again() {
  let reloads = std::env::var(RELOADS).unwrap().parse().unwrap();
  let cycle = || {
    let model = load(&tiny());
    let context = open(&model, 256);
    collect(&submit(&context, &model, "def", greedy(2))).unwrap();
    context.close();
  };
  (0..5).for_each(|_| cycle());
  let Some(before) = resident() else {
    println!("skipped:");
    return;
  };
  (0..reloads).for_each(|_| cycle());
  println!("\ngrown {}", resident().unwrap().saturating_sub(before));
}

#[test]
fn a_second_turn_reuses_the_first_and_says_the_same_as_a_fresh_context() {
  let model = load(&smollm2());
  let context = open(&model, 512);
  let first = chatml("Name a fruit.");
  let answer = collect(&submit(&context, &model, &first, greedy(12))).unwrap();
  assert_eq!(answer.finished.usage.cached_prompt_tokens, 0);
  let second = format!("{first}{}<|im_end|>\n{}", answer.text, chatml("Another one."));
  let reused = collect(&submit(&context, &model, &second, greedy(12))).unwrap();
  let usage = &reused.finished.usage;
  assert!(usage.cached_prompt_tokens >= answer.finished.usage.prompt_tokens, "{usage:?}");
  assert!(usage.cached_prompt_tokens < usage.prompt_tokens, "{usage:?}");
  context.close();
  let fresh_context = open(&model, 512);
  let fresh = collect(&submit(&fresh_context, &model, &second, greedy(12))).unwrap();
  assert_eq!(fresh.finished.usage.cached_prompt_tokens, 0);
  assert_eq!(reused.text, fresh.text);
}
