//! KV caches of conversations that outlive their context.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::reuse::{Subject, cached, run, tokens, with_queue};
use crate::support::{model_path, smollm2, tiny};
use local_inference_core::decoder::Token;
use local_inference_core::durable::StateOptions;
use local_inference_core::fit::KvType;
use local_inference_core::options::{ContextOptions, GenerateOptions, QueueOptions};
use local_inference_llama::running::RunningContext;

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
  fn new(name: &str) -> Self {
    let path = std::env::temp_dir().join(format!("local-inference-state-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    Self(path)
  }

  fn files(&self) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
  }
}

impl Drop for Folder {
  fn drop(&mut self) {
    let _ = fs::remove_dir_all(&self.0);
  }
}

fn state(folder: &Path) -> StateOptions {
  // The machine that runs the tests may be a laptop.
  StateOptions { on_battery: true, ..StateOptions::new(folder.to_owned()) }
}

fn open(subject: &Subject, options: &ContextOptions, state: StateOptions) -> RunningContext {
  RunningContext::open(&subject.model, &ContextOptions { state: Some(state), ..options.clone() }).unwrap()
}

fn named(name: &str, tokens: u32) -> GenerateOptions {
  with_queue(tokens, QueueOptions { conversation: Some(name.to_owned()), ..QueueOptions::default() })
}

/// A first turn, stored; returns the prompt of the second.
fn first_turn(subject: &Subject, folder: &Folder, name: &str, length: usize) -> Vec<Token> {
  let context = open(subject, &subject.options(1024, 2, 64 << 20), state(&folder.0));
  let prompt = subject.prompt(1, length);
  let answer = run(&context, &prompt, named(name, 8));
  assert_eq!(cached(&answer), 0);
  context.close();
  let said = tokens(&answer);
  [&prompt[..], &said[..said.len() - 1], &subject.prompt(2, 12)].concat()
}

#[test]
fn a_new_context_goes_on_with_the_stored_conversation() {
  for (name, subject) in [
    ("SmolLM2", Subject::real(&smollm2())),
    ("Gemma 4", Subject::synthetic(&model_path("synthetic-mtp/history.gguf")).trimmed()),
    ("mamba", Subject::synthetic(&model_path("synthetic-recurrent/mamba.gguf"))),
    ("jamba", Subject::synthetic(&model_path("synthetic-recurrent/jamba.gguf"))),
  ] {
    let folder = Folder::new(name);
    let turn = first_turn(&subject, &folder, "room 1", 80);
    assert_eq!(folder.files().len(), 1, "{name}");
    let context = open(&subject, &subject.options(1024, 2, 64 << 20), state(&folder.0));
    let answer = run(&context, &turn, named("room 1", 8));
    assert_eq!((cached(&answer), answer.finished.usage.state_ignored.as_deref()), (87, None), "{name}");
    subject.assert_same(name, &subject.cold(&turn, 8), &answer);
    // Another conversation has nothing there.
    let other = run(&context, &subject.prompt(3, 40), named("room 2", 4));
    assert_eq!((cached(&other), other.finished.usage.state_ignored.as_deref()), (0, None));
    context.close();
    assert_eq!(folder.files().len(), 2, "{name}");
  }
}

#[test]
fn what_does_not_fit_is_ignored_with_a_reason_and_replaced() {
  let subject = Subject::real(&tiny());
  let folder = Folder::new("foreign");
  let turn = first_turn(&subject, &folder, "a", 60);
  let file = folder.files().remove(0);
  let good = fs::read(&file).unwrap();
  let ignored = |options: ContextOptions| {
    let context = open(&subject, &options, state(&folder.0));
    let answer = run(&context, &turn, named("a", 4));
    context.close();
    assert_eq!(cached(&answer), 0);
    subject.assert_same("an ignored state", &subject.cold(&turn, 4), &answer);
    answer.finished.usage.state_ignored.unwrap_or_default()
  };
  let plain = || subject.options(1024, 2, 64 << 20);

  let other_types = ContextOptions { kv_type_k: Some(KvType::F32), kv_type_v: Some(KvType::F32), ..plain() };
  let reason = ignored(other_types);
  assert!(reason.contains("other KV cache settings"), "{reason}");
  for (bytes, expected) in [
    (good[..good.len() - 1].to_vec(), "damaged"),
    (good[..50].to_vec(), "damaged"),
    (flipped(&good, good.len() - 100), "damaged"),
    (flipped(&good, 32), "another model file"),
    (b"something else".repeat(20), "not a stored state"),
  ] {
    fs::write(&file, bytes).unwrap();
    let reason = ignored(plain());
    assert!(reason.contains(expected), "{expected}: {reason}");
  }
  // The last run has stored its own.
  let context = open(&subject, &plain(), state(&folder.0));
  assert!(cached(&run(&context, &turn, named("a", 4))) > 0);
  context.close();
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
  let mut changed = bytes.to_vec();
  changed[at] ^= 1;
  changed
}

#[test]
fn a_changed_model_file_is_another_model() {
  let folder = Folder::new("model");
  let copy = std::env::temp_dir().join(format!("local-inference-tiny-{}.gguf", std::process::id()));
  fs::copy(tiny(), &copy).unwrap();
  let turn = first_turn(&Subject::real(&copy), &folder, "a", 60);
  let original = Subject::real(&tiny());
  let context = open(&original, &original.options(1024, 1, 0), state(&folder.0));
  // Same bytes, other time: its file has another name, so that both models keep theirs.
  assert_eq!(cached(&run(&context, &turn, named("a", 4))), 0);
  context.close();
  assert_eq!(folder.files().len(), 2);
  fs::remove_file(copy).unwrap();
}

#[test]
fn a_folder_keeps_its_size_its_age_and_what_is_not_its_own() {
  let subject = Subject::real(&tiny());
  let folder = Folder::new("size");
  fs::create_dir_all(&folder.0).unwrap();
  let foreign = folder.0.join("notes.txt");
  fs::write(&foreign, "mine").unwrap();
  let old = folder.0.join(format!("{}.kvstate", "0".repeat(32)));
  fs::write(&old, "old").unwrap();
  let day = Duration::from_hours(24);
  fs::File::options()
    .write(true)
    .open(&old)
    .unwrap()
    .set_modified(std::time::SystemTime::now() - 30 * day)
    .unwrap();

  let context = open(&subject, &subject.options(1024, 1, 0), state(&folder.0));
  assert!(!old.exists() && foreign.exists());
  run(&context, &subject.prompt(1, 60), named("a", 4));
  context.close();
  let stored = folder.files().into_iter().find(|file| *file != foreign).unwrap();
  let one = fs::metadata(&stored).unwrap().len();

  let limited = StateOptions { bytes: one * 2 + one / 2, ..state(&folder.0) };
  let context = open(&subject, &subject.options(1024, 1, 0), limited);
  for seed in 2..6 {
    run(&context, &subject.prompt(seed, 60), named(&format!("room {seed}"), 4));
  }
  context.close();
  let files = folder.files();
  assert_eq!(files.len(), 1 + 2, "{files:?}");
  assert!(
    foreign.exists() && files.iter().all(|file| file.extension().is_some_and(|ending| ending != "partial"))
  );
}

#[test]
fn a_folder_that_cannot_be_made_is_invalid_input() {
  let subject = Subject::real(&tiny());
  let options =
    ContextOptions { state: Some(state(Path::new("/dev/null/states"))), ..subject.options(512, 1, 0) };
  let error = RunningContext::open(&subject.model, &options).err().unwrap();
  assert!(error.to_string().contains("/dev/null/states"), "{error}");
}
