//! What is drafted, and how much of it.

use std::path::PathBuf;

use super::check;
use crate::error::Result;
use crate::speculate::{Limits, MAX_WINDOW};

/// Longest window while nothing is said: what a few processor cores verify for less than it saves.
const DEFAULT_MAX: usize = 8;

/// Speculation of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeculationOptions {
  /// GGUF file of the drafter. Default `None`.
  pub drafter: Option<PathBuf>,
  /// Drafts with the multi-token-prediction heads in the model's own file, if no drafter is named. Default false: they
  /// must have been loaded, and every evaluated token passes through them.
  pub heads: bool,
  /// Limits of a draft. Default 1 to 8 tokens. Not drafting at all is always possible.
  pub window: Limits,
  /// Drafts from repetitions in the text where there is no drafter. Default false.
  pub ngram: bool,
}

impl Default for SpeculationOptions {
  fn default() -> Self {
    let window = Limits { min: 1, max: DEFAULT_MAX, adaptive: true };
    Self { drafter: None, heads: false, window, ngram: false }
  }
}

impl SpeculationOptions {
  /// Whether anything is to be drafted.
  pub fn wanted(&self) -> bool {
    self.drafter.is_some() || self.heads || self.ngram
  }

  pub(super) fn validate(&self) -> Result<()> {
    check::in_range("draftMax", self.window.max, 1..=MAX_WINDOW)?;
    check::in_range("draftMin", self.window.min, 1..=self.window.max)
  }
}

/// Speculation of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Speculative {
  /// As the context does.
  #[default]
  Auto,
  /// Not at all.
  Off,
  /// Within these limits and those of the context.
  Within(Limits),
}

impl Speculative {
  /// The limits in a context that has `limits`; `None` for no speculation.
  pub fn within(self, limits: Limits) -> Option<Limits> {
    match self {
      Self::Auto => Some(limits),
      Self::Off => None,
      Self::Within(own) => Some(own.within(limits.max)),
    }
  }

  pub(super) fn validate(self) -> Result<()> {
    let Self::Within(limits) = self else { return Ok(()) };
    check::in_range("speculative.max", limits.max, 1..=MAX_WINDOW)?;
    check::in_range("speculative.min", limits.min, 1..=limits.max)
  }
}
