//! Choosing tokens.

use crate::error::Result;
use crate::grammar::{Constraint, TokenMask};
use crate::options::GenerateOptions;
use crate::token::Token;

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

/// Among which tokens one is proposed.
#[derive(Clone, Copy)]
pub struct Among<'a> {
  /// No end-of-generation token.
  pub ban_end: bool,
  /// The likeliest one of those that the sampling options leave.
  pub greedy: bool,
  /// These only.
  pub mask: Option<&'a TokenMask>,
}

/// Chooses tokens from the logits of the last batch.
pub trait Sample {
  /// State of one request's sampling: chain, grammar, random generator, history.
  type Sampler;

  /// Starts sampling for a request whose prompt has these text tokens. Fails on a grammar that does not parse.
  fn sampler(&self, options: &GenerateOptions, prompt: &[Token]) -> Result<Self::Sampler>;

  /// Seed in use by `sampler`.
  fn seed(&self, sampler: &Self::Sampler) -> u32;

  /// Chooses the token that follows row `row` of the last batch and tells the sampler of it.
  /// With `ban_end` no end-of-generation token is chosen.
  fn sample(&mut self, sampler: &mut Self::Sampler, row: usize, ban_end: bool) -> Result<Sampled>;

  /// The constraint that the options ask for, at its beginning. Fails on a grammar that does not parse.
  fn constraint(&self, options: &GenerateOptions) -> Result<Option<Box<dyn Constraint>>>;

  /// As `sample`, among the tokens that `among` leaves, and without telling the sampler: `accept` does. May be called
  /// again for the same row, with a mask.
  fn propose(&mut self, sampler: &mut Self::Sampler, row: usize, among: Among<'_>) -> Result<Sampled>;

  /// Tells the sampler of a token that was proposed, or that a constraint determined.
  fn accept(&mut self, sampler: &mut Self::Sampler, token: Token) -> Result<()>;

  /// Number of tokens in the vocabulary.
  fn vocabulary_size(&self) -> usize;

  /// Appends the text bytes of `token` to `out`; control tokens have none unless the request preserves them.
  fn piece(&self, sampler: &Self::Sampler, token: Token, out: &mut Vec<u8>);

  /// Whether `token` ends a generation.
  fn is_end(&self, token: Token) -> bool;
}
