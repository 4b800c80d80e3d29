//! What a request reports.

use crate::decoder::TokenLogprobs;
use crate::error::EngineError;
use crate::stats::Usage;

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
  /// The model ended its turn, or a stop string appeared.
  Stop,
  /// `max_tokens` were generated.
  Length,
  /// The caller stopped it.
  Cancelled,
  /// The sequence fills the whole context.
  Context,
}

/// Text that became final since the last piece.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Piece {
  /// Answer text.
  pub text: String,
  /// Text of a reasoning block.
  pub reasoning: String,
  /// Tokens sampled for it; a token whose text is held back counts here already.
  pub tokens: u32,
  /// One entry a token when asked for.
  pub logprobs: Vec<TokenLogprobs>,
}

impl Piece {
  /// Adds what comes after it.
  pub fn append(&mut self, next: Self) {
    self.text += &next.text;
    self.reasoning += &next.reasoning;
    self.tokens += next.tokens;
    self.logprobs.extend(next.logprobs);
  }
}

/// The last word of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
  /// Why it ended.
  pub reason: FinishReason,
  /// The stop string that ended it.
  pub stop: Option<String>,
  /// What it used.
  pub usage: Usage,
}

/// What a request reports. Exactly one `Done` or `Failed` comes last.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
  /// More text.
  Piece(Piece),
  /// The end.
  Done(Finished),
  /// The end, by an error.
  Failed(EngineError),
}

/// Where a request's events go.
pub trait Sink {
  /// Whether another piece is welcome. The scheduler decodes nothing for a request whose sink is full, but what a step
  /// has begun is sent: up to two pieces (of the last token, of held text) and the final event come after a `true`.
  fn ready(&self) -> bool;

  /// Takes an event; a final one is always taken.
  fn send(&mut self, event: Event);
}
