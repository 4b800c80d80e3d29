//! What is drafted, and how much of it.

use std::path::PathBuf;

use super::check;
use crate::error::Result;
use crate::speculate::{Limits, MAX_WINDOW};

/// Longest window while nothing is said: what a few processor cores verify for less than it saves.
const DEFAULT_MAX: u32 = 8;

/// Speculation of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeculationOptions {
  /// GGUF file of the drafter. Default `None`.
  pub drafter: Option<PathBuf>,
  /// Drafts with the multi-token-prediction heads in the model's own file, if no drafter is named. Default false: they
  /// must have been loaded, and every evaluated token passes through them.
  pub mtp: bool,
  /// Fewest tokens of a draft, 1 to `draft_max`. Default 1. Not drafting at all is always possible.
  pub draft_min: u32,
  /// Most tokens of a draft, 1 to 16. Default 8.
  pub draft_max: u32,
  /// A further limit of a draft, `draft_min` to `draft_max`. Default `None`: `draft_max`.
  pub samples: Option<u32>,
  /// Drafts from repetitions in the text where there is no drafter. Default false.
  pub ngram: bool,
}

impl Default for SpeculationOptions {
  fn default() -> Self {
    Self { drafter: None, mtp: false, draft_min: 1, draft_max: DEFAULT_MAX, samples: None, ngram: false }
  }
}

impl SpeculationOptions {
  /// The limits of a window.
  pub fn limits(&self) -> Limits {
    let max = self.samples.unwrap_or(self.draft_max).min(self.draft_max) as usize;
    Limits { min: (self.draft_min as usize).min(max), max, adaptive: true }
  }

  /// Whether anything is to be drafted.
  pub fn wanted(&self) -> bool {
    self.drafter.is_some() || self.mtp || self.ngram
  }

  pub(super) fn validate(&self) -> Result<()> {
    check::in_range("draftMax", self.draft_max as usize, 1..=MAX_WINDOW)?;
    check::in_range("draftMin", self.draft_min, 1..=self.draft_max)?;
    let samples = self.samples.unwrap_or(self.draft_max);
    check::in_range("speculativeSamples", samples, self.draft_min..=self.draft_max)
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
      Self::Within(own) => {
        let max = own.max.min(limits.max);
        Some(Limits { min: own.min.min(max), max, adaptive: own.adaptive })
      }
    }
  }

  pub(super) fn validate(self) -> Result<()> {
    let Self::Within(limits) = self else { return Ok(()) };
    check::in_range("speculative.max", limits.max, 1..=MAX_WINDOW)?;
    check::in_range("speculative.min", limits.min, 1..=limits.max)
  }
}
