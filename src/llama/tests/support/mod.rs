//! What the tests of this crate share: the started backend, the real models, a collecting sink.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod chat;
pub(crate) mod gguf;
pub(crate) mod reuse;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use local_inference_core::cancel::CancelToken;
use local_inference_core::error::EngineError;
use local_inference_core::generate::{Event, Finished, Request, Sink};
use local_inference_core::grammar::{ConstraintOptions, ConstraintSource};
use local_inference_core::options::{ContextOptions, GenerateOptions, LoadOptions};
use local_inference_llama::backend;
use local_inference_llama::model::Model;
use local_inference_llama::running::RunningContext;

/// Starts llama.cpp with the modules of this build.
pub(crate) fn start() {
  backend::start(&[PathBuf::from(env!("LOCAL_INFERENCE_BUILD_BACKENDS"))]).unwrap();
}

/// Says on the screen what is not checked, and why. The test harness would keep what `println!` says of a passing test.
pub(crate) fn skip(reason: &str) {
  let test = std::thread::current().name().unwrap_or("a test").to_owned();
  // A closed stderr has no screen.
  let _ = writeln!(std::io::stderr(), "skipped in {test}: {reason}");
}

/// A model that is fetched on request only; without it, says so and gives nothing. Where `CI` is set it must be there.
pub(crate) fn optional_model(name: &str, id: &str) -> Option<PathBuf> {
  let path = models_folder().join(name);
  if path.exists() {
    return Some(path);
  }
  let reason = format!("{name} is not here: `npm run models -- --only {id}` fetches it");
  assert!(std::env::var_os("CI").is_none(), "{reason}");
  skip(&reason);
  None
}

/// A model that `npm run models` has fetched.
pub(crate) fn model_path(name: &str) -> PathBuf {
  let path = models_folder().join(name);
  assert!(path.exists(), "{} is missing: fetch the models with `npm run models`", path.display());
  path
}

fn models_folder() -> PathBuf {
  std::env::var_os("LOCAL_INFERENCE_DEV_MODELS").map_or_else(
    || {
      let cache = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from);
      cache.join("local-inference/models")
    },
    PathBuf::from,
  )
}

pub(crate) fn smollm2() -> PathBuf {
  model_path("SmolLM2-135M-Instruct.Q4_1.gguf")
}

pub(crate) fn minilm() -> PathBuf {
  model_path("all-MiniLM-L6-v2-f16.gguf")
}

pub(crate) fn tiny() -> PathBuf {
  model_path("tiny.gguf")
}

pub(crate) fn load(path: &std::path::Path) -> Model {
  start();
  Model::load(path, &LoadOptions::default(), &|_| {}, &CancelToken::new()).unwrap()
}

pub(crate) fn open(model: &Model, size: u32) -> RunningContext {
  RunningContext::open(
    model,
    &ContextOptions { context_size: Some(size), threads: Some(1), ..ContextOptions::default() },
  )
  .unwrap()
}

/// Sends events to the test.
pub(crate) struct Collector(pub(crate) Sender<Event>);

impl Sink for Collector {
  fn ready(&self) -> bool {
    true
  }

  fn send(&mut self, event: Event) {
    let _ = self.0.send(event);
  }
}

/// A request's result.
#[derive(Debug)]
pub(crate) struct Answer {
  pub(crate) text: String,
  pub(crate) reasoning: String,
  pub(crate) pieces: Vec<local_inference_core::generate::Piece>,
  pub(crate) finished: Finished,
}

pub(crate) fn submit(
  context: &RunningContext,
  model: &Model,
  prompt: &str,
  options: GenerateOptions,
) -> Receiver<Event> {
  let (sender, receiver) = channel();
  let prompt = model.tokenize(prompt, true, true).unwrap();
  context.submit(Request { prompt: prompt.into(), options, cancel: CancelToken::new() }, Collector(sender));
  receiver
}

/// Waits for the end of a request.
pub(crate) fn collect(events: &Receiver<Event>) -> Result<Answer, EngineError> {
  let mut pieces = Vec::new();
  loop {
    match events.recv_timeout(Duration::from_mins(5)).expect("a request always ends") {
      Event::Piece(piece) => pieces.push(piece),
      Event::Failed(error) => return Err(error),
      Event::Done(finished) => {
        let text = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let reasoning = pieces.iter().map(|piece| piece.reasoning.as_str()).collect();
        return Ok(Answer { text, reasoning, pieces, finished });
      }
    }
  }
}

/// A constraint on the whole answer, in GBNF.
pub(crate) fn gbnf(text: &str) -> ConstraintOptions {
  ConstraintOptions::new(ConstraintSource::Gbnf(text.to_owned()))
}

pub(crate) fn greedy(max_tokens: u32) -> GenerateOptions {
  let mut options = GenerateOptions { max_tokens: Some(max_tokens), ..GenerateOptions::default() };
  options.sampling.temperature = 0.0;
  options
}

/// The `ChatML` prompt of `SmolLM2` and Qwen.
pub(crate) fn chatml(question: &str) -> String {
  format!("<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n")
}

/// `SmolLM2` with one context.
pub(crate) struct Rig {
  pub(crate) model: Model,
  pub(crate) context: RunningContext,
}

impl Rig {
  pub(crate) fn new() -> Self {
    let model = load(&smollm2());
    let context = open(&model, 512);
    Self { model, context }
  }

  pub(crate) fn try_run(&self, prompt: &str, options: GenerateOptions) -> Result<Answer, EngineError> {
    collect(&submit(&self.context, &self.model, prompt, options))
  }

  #[track_caller]
  pub(crate) fn run(&self, prompt: &str, options: GenerateOptions) -> Answer {
    self.try_run(prompt, options).unwrap()
  }
}
