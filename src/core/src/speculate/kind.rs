//! Where drafts come from.

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
