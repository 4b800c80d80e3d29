//! Requests whose tokens are compared: with and without reuse, alone and beside others.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::{Token, TokenLogprobs};
use local_inference_core::generate::{Event, Request};
use local_inference_core::options::{ContextOptions, GenerateOptions, QueueOptions};
use local_inference_llama::model::Model;
use local_inference_llama::running::RunningContext;

use super::{Answer, Collector, collect, greedy, load};

/// A model and how its prompts are written.
pub(crate) struct Subject {
  pub(crate) model: Model,
  words: bool,
  /// Keep sliding windows trimmed.
  pub(crate) trim: bool,
  /// How much the probability of a token (natural logarithm) may depend on how many tokens were evaluated together, and
  /// so on whether a part of the prompt came from a cache: other kernels, another order of summation, activations rounded
  /// to 8 bits. Without any reuse, batches of 16, 37 and 512 tokens differ by up to 0.11 for `SmolLM2`, 0.12 for Qwen 2.5
  /// and 0.36 for Gemma 3.
  drift: f32,
}

impl Subject {
  /// A model that reads English.
  pub(crate) fn real(path: &Path) -> Self {
    Self { model: load(path), words: false, trim: false, drift: 0.25 }
  }

  /// A synthetic model that reads numbered words; its weights are not quantised.
  pub(crate) fn synthetic(path: &Path) -> Self {
    Self { words: true, drift: 0.01, ..Self::real(path) }
  }

  /// Gemma 3 with 270 million parameters, if it is here.
  pub(crate) fn gemma3() -> Option<Self> {
    let path = super::optional_model("gemma-3-270m-q4_k_m.gguf", "gemma3-270m")?;
    Some(Self { drift: 0.5, ..Self::real(&path) })
  }

  pub(crate) fn trimmed(self) -> Self {
    Self { trim: true, ..self }
  }

  /// Tokens of a text of about `length` tokens that depends on `seed`.
  pub(crate) fn prompt(&self, seed: u32, length: usize) -> Vec<Token> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut text = String::new();
    let mut tokens = Vec::new();
    while tokens.len() < length {
      state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
      let number = (state >> 8) % 112;
      if self.words {
        let _ = write!(text, " w{number:03}");
      } else {
        let things = ["boats", "letters", "stones", "horses", "songs", "wheels", "lamps"];
        let thing = things[number as usize % things.len()];
        let _ = write!(text, " {number} {thing} came by.");
      }
      tokens = self.model.tokenize(&text, false, false).unwrap();
    }
    tokens.truncate(length);
    tokens
  }

  /// A context of `size` tokens; `cache` in bytes.
  pub(crate) fn open(&self, size: u32, parallel: u32, cache: u64) -> RunningContext {
    RunningContext::open(&self.model, &self.options(size, parallel, cache)).unwrap()
  }

  pub(crate) fn options(&self, size: u32, parallel: u32, cache: u64) -> ContextOptions {
    ContextOptions {
      context_size: Some(size),
      parallel: Some(parallel),
      prefix_cache: Some(cache),
      trim_windows: self.trim,
      threads: Some(1),
      ..ContextOptions::default()
    }
  }

  /// What a context of its own makes of `prompt`, without anything to reuse.
  pub(crate) fn cold(&self, prompt: &[Token], tokens: u32) -> Answer {
    let context = self.open(1024, 1, 0);
    let answer = run(&context, prompt, options(tokens));
    context.close();
    answer
  }
}

/// Greedy, to the last token, with what is needed to compare.
pub(crate) fn options(tokens: u32) -> GenerateOptions {
  GenerateOptions { ignore_eos: true, logprobs: Some(2), ..greedy(tokens) }
}

pub(crate) fn with_queue(tokens: u32, queue: QueueOptions) -> GenerateOptions {
  GenerateOptions { queue, ..options(tokens) }
}

pub(crate) fn start(
  context: &RunningContext,
  prompt: &[Token],
  options: GenerateOptions,
) -> (Receiver<Event>, CancelToken) {
  let (sender, receiver) = channel();
  let cancel = CancelToken::new();
  context.submit(Request { prompt: prompt.into(), options, cancel: cancel.clone() }, Collector(sender));
  (receiver, cancel)
}

pub(crate) fn run(context: &RunningContext, prompt: &[Token], options: GenerateOptions) -> Answer {
  collect(&start(context, prompt, options).0).unwrap()
}

pub(crate) fn cached(answer: &Answer) -> usize {
  answer.finished.usage.cached_prompt_tokens
}

/// The tokens of an answer.
pub(crate) fn tokens(answer: &Answer) -> Vec<Token> {
  choices(answer).iter().map(|choice| choice.chosen.token).collect()
}

fn choices(answer: &Answer) -> Vec<TokenLogprobs> {
  answer.pieces.iter().flat_map(|piece| piece.logprobs.clone()).collect()
}

impl Subject {
  /// Compares token by token, and how likely each was. Two runs may part only where the two best tokens are so close that
  /// drift explains it; from there on they are different texts. Returns how many tokens were compared.
  pub(crate) fn assert_same(&self, what: &str, one: &Answer, other: &Answer) -> usize {
    let (one, other) = (choices(one), choices(other));
    assert_eq!(one.len(), other.len(), "{what}: not equally long");
    for (index, (a, b)) in one.iter().zip(&other).enumerate() {
      if a.chosen.token != b.chosen.token {
        let margin = a.top[0].logprob - a.top[1].logprob;
        assert!(margin < 2.0 * self.drift, "{what}: token {index} differs by {margin}: {a:?} and {b:?}");
        return index;
      }
      let drift = (a.chosen.logprob - b.chosen.logprob).abs();
      assert!(drift < self.drift, "{what}: token {index} is {drift} more or less likely: {a:?} and {b:?}");
    }
    one.len()
  }
}
