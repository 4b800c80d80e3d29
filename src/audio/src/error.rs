//! The one error type of this crate.

/// What a caller can branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AudioErrorKind {
  /// An argument, or a sound file, is malformed or out of range.
  InvalidInput,
  /// A file of weights is damaged, or is not one.
  ModelInvalid,
  /// A file of weights is sound, but describes a network that this crate does not compute.
  ModelUnsupported,
}

/// A failure with a kind and a message that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AudioError {
  kind: AudioErrorKind,
  message: String,
}

impl AudioError {
  /// An error of `kind`; `message` is shown to people and names the remedy where there is one.
  pub fn new(kind: AudioErrorKind, message: impl Into<String>) -> Self {
    Self { kind, message: message.into() }
  }

  /// A malformed argument or sound file.
  pub fn invalid(message: impl Into<String>) -> Self {
    Self::new(AudioErrorKind::InvalidInput, message)
  }

  /// What a caller can branch on.
  pub const fn kind(&self) -> AudioErrorKind {
    self.kind
  }
}

/// Result of every fallible operation of this crate.
pub type Result<T, E = AudioError> = std::result::Result<T, E>;
