//! What a caller may ask for, its defaults and ranges. Names in messages are the ones JavaScript uses.

mod check;
mod context;
mod load;
mod request;
mod sampling;
mod speculation;

pub use context::{
  ContextOptions, DEFAULT_PARALLEL, FlashAttention, MAX_BATCH, MAX_CONTEXT, MAX_PARALLEL, MAX_QUEUE,
  MAX_THREADS,
};
pub use load::LoadOptions;
pub use request::{ContextFull, Lane, MAX_CONVERSATION_BYTES, MAX_QUEUE_TIMEOUT, QueueOptions};
pub use sampling::{
  Dry, MAX_BIAS, MAX_BREAKER_BYTES, MAX_BREAKERS, MAX_WINDOW, Mirostat, SamplingOptions, Xtc,
};
pub use speculation::{SpeculationOptions, Speculative};

use crate::error::Result;
use crate::grammar::ConstraintOptions;
use crate::text::TextOptions;

/// Most strings in `stops` and in the end tags of reasoning.
pub const MAX_STOPS: usize = 64;
/// Longest stop, reasoning tag and preserved token, in bytes.
pub const MAX_STOP_BYTES: usize = 1_024;
/// Most alternatives that are reported for a token.
pub const MAX_LOGPROBS: u32 = 20;
/// Most entries of `preserved_tokens`.
pub const MAX_PRESERVED_TOKENS: usize = 1_024;

/// One generation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GenerateOptions {
  /// Most tokens to generate, at least 1. Default `None`: until the model ends or the context is full.
  pub max_tokens: Option<u32>,
  /// Tokens before which neither a stop nor an end-of-generation token ends the output, 0 to `max_tokens`. Default 0.
  pub min_tokens: u32,
  /// How a token is chosen.
  pub sampling: SamplingOptions,
  /// Stops and reasoning tags. Default none.
  pub text: TextOptions,
  /// What the answer must match. It outranks stops, `min_tokens` and `ignore_eos`: none of them keeps the answer from
  /// matching. Default none.
  pub constraint: Option<ConstraintOptions>,
  /// Alternatives to report for each token, 0 (the chosen token alone) to 20. Default `None`: no log-probabilities.
  pub logprobs: Option<u32>,
  /// Goes on past end-of-generation tokens. Default false.
  pub ignore_eos: bool,
  /// Special tokens that appear in the text instead of being left out (tool-call markers of a template). At most 1,024
  /// of 1 to 1,024 bytes. Default none.
  pub preserved_tokens: Vec<String>,
  /// Speculative decoding. Default as the context does.
  pub speculative: Speculative,
  /// Place in the queue and use of the KV cache.
  pub queue: QueueOptions,
}

impl GenerateOptions {
  /// Checks every field against its range; `vocabulary_size` is the number of tokens of the model.
  ///
  /// # Errors
  /// `INVALID_INPUT` that names the field, its value and what is allowed.
  pub fn validate(&self, vocabulary_size: u32) -> Result<()> {
    if self.max_tokens == Some(0) {
      return Err(check::invalid("maxTokens must be at least 1, got 0"));
    }
    if let Some(max) = self.max_tokens.filter(|&max| self.min_tokens > max) {
      let min = self.min_tokens;
      return Err(check::invalid(format!("minTokens must be between 0 and maxTokens ({max}), got {min}")));
    }
    if let Some(logprobs) = self.logprobs {
      check::in_range("logprobs", logprobs, 0..=MAX_LOGPROBS)?;
    }
    check::strings("stops", &self.text.stops, MAX_STOPS, 0..=MAX_STOP_BYTES)?;
    if let Some(tags) = &self.text.reasoning {
      check::strings("thinking.start", std::slice::from_ref(&tags.start), 1, 0..=MAX_STOP_BYTES)?;
      check::strings("thinking.ends", &tags.ends, MAX_STOPS, 0..=MAX_STOP_BYTES)?;
    }
    check::strings("preservedTokens", &self.preserved_tokens, MAX_PRESERVED_TOKENS, 1..=MAX_STOP_BYTES)?;
    check::without_nul("preservedTokens", &self.preserved_tokens)?;
    if let Some(constraint) = &self.constraint {
      constraint.validate()?;
    }
    self.queue.validate()?;
    self.speculative.validate()?;
    self.sampling.validate(vocabulary_size)
  }
}
