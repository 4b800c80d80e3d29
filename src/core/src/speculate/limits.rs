//! How long a draft may be.

/// Longest window that can be asked for.
pub const MAX_WINDOW: usize = 16;

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
