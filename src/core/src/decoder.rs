//! What the scheduler needs from a model: implemented over llama.cpp, faked in tests.

use crate::error::Result;
use crate::options::GenerateOptions;

/// Index of a token in the vocabulary.
pub type Token = i32;

/// Index of one independent token history inside a context, from 0.
pub type SequenceId = i32;

/// One token of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchToken {
  /// The token to evaluate.
  pub token: Token,
  /// Its position in the sequence, from 0.
  pub position: i32,
  /// The sequence it belongs to.
  pub sequence: SequenceId,
  /// Whether logits are wanted at this position.
  pub logits: bool,
}

/// How a decode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
  /// Every token of the batch is in the KV cache.
  Complete,
  /// The interrupt was seen; only the micro-batches before it are in the KV cache.
  Interrupted,
}

/// One alternative of a position.
#[derive(Debug, Clone, PartialEq)]
pub struct Logprob {
  /// The token.
  pub token: Token,
  /// Natural logarithm of the model's probability, before any sampler.
  pub logprob: f32,
}

/// Log probabilities of one position.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprobs {
  /// The chosen token.
  pub chosen: Logprob,
  /// The most likely tokens, most likely first.
  pub top: Vec<Logprob>,
}

/// The token that was chosen at one position.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
  /// The token.
  pub token: Token,
  /// Present when the options ask for log probabilities.
  pub logprobs: Option<TokenLogprobs>,
}

/// A context of a model that can evaluate and sample several sequences.
pub trait Decoder {
  /// State of one request's sampling: chain, grammar, random generator, history.
  type Sampler;

  /// Most tokens one `decode` takes.
  fn batch_size(&self) -> usize;

  /// Most tokens (prompt and completion) that all sequences hold together; one alone may use them all.
  fn context_size(&self) -> usize;

  /// Starts sampling for a request. Fails on a grammar that does not parse.
  fn sampler(&self, options: &GenerateOptions, prompt: &[Token]) -> Result<Self::Sampler>;

  /// Seed in use by `sampler`.
  fn seed(&self, sampler: &Self::Sampler) -> u32;

  /// Evaluates `batch`. `interrupt` is polled while it runs.
  fn decode(&mut self, batch: &[BatchToken], interrupt: &dyn Fn() -> bool) -> Result<Decoded>;

  /// Chooses the token that follows row `row` of the last batch and tells the sampler of it.
  /// With `ban_end` no end-of-generation token is chosen.
  fn sample(&mut self, sampler: &mut Self::Sampler, row: usize, ban_end: bool) -> Result<Sampled>;

  /// Appends the text bytes of `token` to `out`; control tokens have none unless the request preserves them.
  fn piece(&self, sampler: &Self::Sampler, token: Token, out: &mut Vec<u8>);

  /// Whether `token` ends a generation.
  fn is_end(&self, token: Token) -> bool;

  /// Removes the positions from `from` on. False, with nothing changed, when the memory cannot go back that far.
  fn rewind(&mut self, sequence: SequenceId, from: usize) -> bool;

  /// Removes every position of `sequence`.
  fn clear(&mut self, sequence: SequenceId);

  /// Number of positions of `sequence` in the KV cache.
  fn length(&self, sequence: SequenceId) -> usize;
}
