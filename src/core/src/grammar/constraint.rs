//! What an answer can be held to, and how a request follows it.

use super::mask::TokenMask;
use crate::error::{EngineError, ErrorCode, Result};
use crate::token::Token;

/// Largest source of a constraint in bytes.
pub const MAX_SOURCE_BYTES: usize = 1 << 20;
/// Most triggers of a constraint.
pub const MAX_TRIGGERS: usize = 64;

/// Most spans of a constraint.
pub const MAX_SPANS: usize = 1_000;

/// What the answer must match.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ConstraintSource {
  /// A grammar in llama.cpp's GBNF notation.
  Gbnf(String),
  /// A JSON Schema (draft 2020-12) that the answer, a JSON text, must satisfy.
  Schema(String),
  /// A JSON array of parts that follow one another; see `grammar/parts.rs`.
  Parts(String),
}

/// Where a lazy constraint begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
  /// Where this text appears.
  Text(String),
  /// Where this regular expression matches: at its first group, or at the match when it has none.
  Pattern(String),
}

/// A stretch of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
  /// This text.
  Literal(String),
  /// A JSON value; with `greedy` the model's likeliest one, whatever the sampling options are.
  Value {
    /// Takes the likeliest token of those that the sampling options leave.
    greedy: bool,
  },
}

/// A constraint on the answer. Reasoning is never constrained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstraintOptions {
  /// What the answer must match.
  pub source: ConstraintSource,
  /// With triggers the answer is free until one of them appears, and matches from there on. At most 64. Default none:
  /// the whole answer matches.
  pub triggers: Vec<Trigger>,
  /// The end of the prompt, when the source describes it too. Such a source describes the whole output, reasoning
  /// included. Default none.
  pub prefix: Option<String>,
  /// What the answer is made of, where parts of it are sampled otherwise. Default none.
  pub spans: Vec<Span>,
}

impl ConstraintOptions {
  /// A constraint on the whole answer.
  pub fn new(source: ConstraintSource) -> Self {
    Self { source, triggers: Vec::new(), prefix: None, spans: Vec::new() }
  }

  /// Checks sizes; what the source says is checked when it is compiled.
  ///
  /// # Errors
  /// `INVALID_INPUT`.
  pub fn validate(&self) -> Result<()> {
    let (ConstraintSource::Gbnf(text) | ConstraintSource::Schema(text) | ConstraintSource::Parts(text)) =
      &self.source;
    let invalid = |message: String| Err(EngineError::new(ErrorCode::InvalidInput, message));
    if text.is_empty() || text.len() > MAX_SOURCE_BYTES {
      let length = text.len();
      return invalid(format!(
        "a grammar or schema must be 1 to {MAX_SOURCE_BYTES} bytes long, got {length}"
      ));
    }
    if self.triggers.len() > MAX_TRIGGERS {
      return invalid(format!("a grammar must have at most {MAX_TRIGGERS} triggers"));
    }
    if self.spans.len() > MAX_SPANS {
      return invalid(format!("a constraint must have at most {MAX_SPANS} spans"));
    }
    Ok(())
  }
}

/// A constraint in use by one request, followed token by token.
pub trait Constraint: Send {
  /// Whether `token` may come next; changes nothing. End-of-generation tokens are not asked for: see `can_end`.
  fn allows(&mut self, token: Token) -> Result<bool>;

  /// Every token that may come next, end-of-generation tokens included where the answer may end.
  fn mask(&mut self) -> Result<TokenMask>;

  /// Takes `token`, which must be allowed.
  fn accept(&mut self, token: Token) -> Result<()>;

  /// Takes text that was generated before the constraint began.
  fn accept_text(&mut self, text: &str) -> Result<()>;

  /// Tokens that must come next, whatever the model says; empty when there is a choice.
  fn forced(&mut self) -> Vec<Token>;

  /// Whether the answer matches as it is.
  fn can_end(&mut self) -> bool;

  /// Whether the answer matches without its last `tail` bytes; changes nothing.
  fn matches_without(&mut self, tail: usize) -> bool;

  /// Whether the answer matches and nothing can follow.
  fn is_complete(&self) -> bool;

  /// Bytes, as few as can be found in bounded time, with which the answer matches. They may begin within a character.
  fn closing(&mut self) -> Option<Vec<u8>>;

  /// Bytes that end the innermost open part, a string or a text before its tag, and leave what follows to the model.
  fn ending(&mut self) -> Option<Vec<u8>>;

  /// Tokens of `text` as the model would write them.
  fn tokens(&self, text: &[u8]) -> Vec<Token>;
}
