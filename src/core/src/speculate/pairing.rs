//! Whether a drafter can serve a target, from the headers of both: llama.cpp aborts the process over what is checked
//! here, or decodes nonsense.

use std::fmt;

use super::kind::Kind;
use crate::gguf::{GgufHeader, ModelKind};

/// Difference in vocabulary size that llama.cpp allows between a model and its draft model.
const MOST_VOCABULARY_DIFFERENCE: u32 = 128;

/// Why a context decodes without its drafter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
  /// There is no such file.
  NotFound,
  /// The file is damaged, or no model that can be run.
  Invalid,
  /// The drafter is the target.
  SameFile,
  /// Its tokens are not those of the target.
  Vocabulary,
  /// It was made for a target with a hidden state of another width.
  Width,
  /// Its attention does not fit the target's KV cache.
  Layers,
  /// The target has no heads of its own, or was loaded without them.
  Heads,
  /// No drafter of this architecture is known, or none for this target.
  Unsupported,
  /// There is not enough memory for it.
  OutOfMemory,
  /// llama.cpp refused it.
  Failed,
}

impl Problem {
  /// A stable name: `not-found`, `invalid`, `same-file`, `vocabulary`, `width`, `layers`, `heads`,
  /// `unsupported`, `out-of-memory` or `failed`.
  pub const fn as_str(self) -> &'static str {
    match self {
      Self::NotFound => "not-found",
      Self::Invalid => "invalid",
      Self::SameFile => "same-file",
      Self::Vocabulary => "vocabulary",
      Self::Width => "width",
      Self::Layers => "layers",
      Self::Heads => "heads",
      Self::Unsupported => "unsupported",
      Self::OutOfMemory => "out-of-memory",
      Self::Failed => "failed",
    }
  }
}

/// A drafter that is not used. Decoding goes on without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
  /// What is wrong.
  pub problem: Problem,
  /// The same for people, with the sizes that do not match.
  pub message: String,
}

impl Unusable {
  /// A refusal for `problem`.
  pub fn new(problem: Problem, message: impl Into<String>) -> Self {
    Self { problem, message: message.into() }
  }
}

impl fmt::Display for Unusable {
  fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&self.message)
  }
}

/// What `drafter` can do for `target`. The texts of the tokens are not part of a header: whoever loads the drafter
/// compares them.
///
/// # Errors
/// The first thing that does not match.
pub fn pair(target: &GgufHeader, drafter: &GgufHeader) -> Result<Kind, Unusable> {
  if same_file(target, drafter) {
    return Err(Unusable::new(
      Problem::SameFile,
      "the drafter is the model itself: it would save nothing, unless it has heads of its own, which `heads` asks for",
    ));
  }
  match drafter.architecture.as_str() {
    "gemma4-assistant" => assistant(target, drafter).map(|()| Kind::Assistant),
    other if needs_target(other) || drafter.kind != ModelKind::Chat => Err(Unusable::new(
      Problem::Unsupported,
      format!(
        "a model of architecture {other} does not draft: use a gemma4-assistant or a smaller model of the same family"
      ),
    )),
    _ => draft_model(target, drafter).map(|()| Kind::DraftModel),
  }
}

/// Other drafters that read the target's layers.
fn needs_target(architecture: &str) -> bool {
  matches!(architecture, "eagle3" | "dflash")
}

fn same_file(a: &GgufHeader, b: &GgufHeader) -> bool {
  let real = |header: &GgufHeader| header.path.canonicalize().unwrap_or_else(|_| header.path.clone());
  real(a) == real(b)
}

fn draft_model(target: &GgufHeader, drafter: &GgufHeader) -> Result<(), Unusable> {
  let (ours, theirs) = (target.vocabulary_size, drafter.vocabulary_size);
  if target.tokenizer_model != drafter.tokenizer_model || ours.abs_diff(theirs) > MOST_VOCABULARY_DIFFERENCE {
    let tokenizer = |header: &GgufHeader| header.tokenizer_model.clone().unwrap_or_else(|| "no".to_owned());
    return Err(Unusable::new(
      Problem::Vocabulary,
      format!(
        "the drafter has {theirs} tokens ({} tokenizer), the model {ours} ({}): they must be the same",
        tokenizer(drafter),
        tokenizer(target)
      ),
    ));
  }
  Ok(())
}

/// A `gemma4-assistant` has no keys and values of its own: its sliding layers read those of the target's last layer but
/// one, the others those of the last one.
fn assistant(target: &GgufHeader, drafter: &GgufHeader) -> Result<(), Unusable> {
  if target.architecture != "gemma4" {
    return Err(Unusable::new(
      Problem::Unsupported,
      format!(
        "a gemma4-assistant drafts for Gemma 4, not for a model of architecture {}",
        target.architecture
      ),
    ));
  }
  if target.vocabulary_size != drafter.vocabulary_size {
    return Err(Unusable::new(
      Problem::Vocabulary,
      format!("the drafter has {} tokens, the model {}", drafter.vocabulary_size, target.vocabulary_size),
    ));
  }
  let number =
    |header: &GgufHeader, key: &str| header.metadata().get_u64(&format!("{}.{key}", header.architecture));
  let width = number(drafter, "embedding_length_out");
  if width != Some(target.embedding_length.into()) {
    let width = width.map_or_else(|| "no".to_owned(), |width| width.to_string());
    return Err(Unusable::new(
      Problem::Width,
      format!(
        "the drafter was made for a hidden state of {width} numbers, the model's has {}",
        target.embedding_length
      ),
    ));
  }
  attention(target, drafter, number)
}

fn attention(
  target: &GgufHeader,
  drafter: &GgufHeader,
  number: impl Fn(&GgufHeader, &str) -> Option<u64>,
) -> Result<(), Unusable> {
  let mismatch = |message: String| Unusable::new(Problem::Layers, message);
  let layers = target.layers().map_err(|error| mismatch(error.to_string()))?.all;
  let [.., sliding, full] = layers.as_slice() else {
    return Err(mismatch("the model has fewer than two layers".to_owned()));
  };
  if sliding.window.is_none() || full.window.is_some() {
    return Err(mismatch("the model does not end with a sliding and a full attention layer".to_owned()));
  }
  let window = number(drafter, "attention.sliding_window");
  if window != sliding.window {
    return Err(mismatch(format!(
      "the drafter looks back {} tokens, the model {}",
      window.unwrap_or(0),
      sliding.window.unwrap_or(0)
    )));
  }
  for (key, ours) in [
    ("attention.key_length", full.key_length),
    ("attention.value_length", full.value_length),
    ("attention.key_length_swa", sliding.key_length),
    ("attention.value_length_swa", sliding.value_length),
  ] {
    let theirs = number(drafter, key).unwrap_or(0);
    if theirs != ours {
      return Err(mismatch(format!("{key} is {theirs} in the drafter, {ours} in the model")));
    }
  }
  let heads = drafter.metadata().get_u64("gemma4-assistant.attention.head_count").unwrap_or(0);
  let divides = |kv_heads: u64| kv_heads > 0 && heads > 0 && heads.is_multiple_of(kv_heads);
  if divides(sliding.kv_heads) && divides(full.kv_heads) {
    Ok(())
  } else {
    Err(mismatch(format!("{heads} heads of the drafter do not share {} of the model's cache", full.kv_heads)))
  }
}
