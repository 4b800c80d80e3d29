//! Speculative decoding: what is drafted, how many tokens, and whether it pays.
//!
//! A drafter proposes tokens, the target evaluates all of them in one decode, and each is kept only if sampling chooses
//! it anyway (Leviathan, Kalman, Matias 2023, "Fast inference from transformers via speculative decoding"). A decode of
//! k tokens costs less than k decodes, but more than one: a window that is too long, or a drafter that is wrong, makes
//! generation slower. So the window is chosen from what is measured on this machine ([`Costs`], [`Acceptance`],
//! [`Window`]).

mod acceptance;
mod account;
mod costs;
mod heads;
mod ngram;
mod pairing;
mod stakes;
mod window;

pub use acceptance::Acceptance;
pub use account::Account;
pub use costs::Costs;
pub use heads::{Heads, own_heads};
pub use ngram::NgramDrafter;
pub use pairing::{Problem, Unusable, pair};
pub use stakes::Beside;
pub use window::{Choice, Window};

/// Longest window that can be asked for.
pub const MAX_WINDOW: usize = 16;

/// Where drafts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
  /// A model made for the target, which reads its hidden state and its KV cache.
  Assistant,
  /// Multi-token-prediction heads in the target's own file.
  Heads,
  /// A smaller model with the same vocabulary.
  DraftModel,
  /// Earlier occurrences of the last tokens in the text itself.
  Ngram,
}

impl Kind {
  /// `assistant`, `heads`, `draft-model` or `ngram`.
  pub const fn as_str(self) -> &'static str {
    match self {
      Self::Assistant => "assistant",
      Self::Heads => "heads",
      Self::DraftModel => "draft-model",
      Self::Ngram => "ngram",
    }
  }
}

/// Limits of the window, in drafted tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
  /// Fewest tokens of a draft, at least 1.
  pub min: usize,
  /// Most tokens of a draft, `min` to [`MAX_WINDOW`].
  pub max: usize,
  /// Whether measurements choose within the limits, or not draft at all; otherwise every step drafts `max`.
  pub adaptive: bool,
}

impl Limits {
  /// The same for a window of at most `most` tokens.
  #[must_use]
  pub fn within(self, most: usize) -> Self {
    let max = self.max.min(most);
    Self { min: self.min.min(max), max, ..self }
  }
}

/// Tokens that a step with a window of `acceptances.len()` yields on average, where `acceptances[i]` is the probability
/// that drafted token i is accepted once those before it were: 1 + a1 + a1 a2 + ... For equal ones that is
/// (1 - a^(n + 1)) / (1 - a), equation 1 of Leviathan et al. 2023.
pub fn expected_tokens(acceptances: &[f64]) -> f64 {
  let mut survival = 1.0;
  let mut tokens = 1.0;
  for acceptance in acceptances {
    survival *= acceptance;
    tokens += survival;
  }
  tokens
}
