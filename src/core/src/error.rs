//! The one error type of the engine and its stable codes.

use std::fmt;

macro_rules! error_codes {
  ($($(#[doc = $doc:literal])* $variant:ident = $text:literal,)*) => {
    /// Stable identifier of a failure: what a caller branches on.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum ErrorCode { $($(#[doc = $doc])* $variant,)* }

    impl ErrorCode {
      /// Every code, in declaration order.
      pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

      /// The code as it appears in `CODE: message` and in TypeScript.
      pub const fn as_str(self) -> &'static str {
        match self { $(Self::$variant => $text,)* }
      }
    }
  };
}

error_codes! {
  /// The path names nothing that can be opened.
  ModelNotFound = "MODEL_NOT_FOUND",
  /// The file is not a complete, well-formed GGUF.
  ModelInvalid = "MODEL_INVALID",
  /// The file is well formed, but this build cannot run its architecture or tensor types.
  ModelUnsupported = "MODEL_UNSUPPORTED",
  /// Weights, KV cache or compute buffers do not fit the memory that is available.
  OutOfMemory = "OUT_OF_MEMORY",
  /// The prompt, or the text to embed, is longer than the context.
  ContextOverflow = "CONTEXT_OVERFLOW",
  /// The caller stopped the operation.
  Cancelled = "CANCELLED",
  /// The model or the build lacks the requested capability.
  Unsupported = "UNSUPPORTED",
  /// An argument is malformed or out of range.
  InvalidInput = "INVALID_INPUT",
  /// The chat template cannot be parsed or fails while rendering.
  TemplateInvalid = "TEMPLATE_INVALID",
  /// The grammar cannot be parsed or admits no token.
  GrammarInvalid = "GRAMMAR_INVALID",
  /// No compute backend could be started.
  BackendUnavailable = "BACKEND_UNAVAILABLE",
  /// The model, context or embedder was closed.
  Closed = "CLOSED",
  /// Too many requests wait for the context.
  QueueFull = "QUEUE_FULL",
  /// The request waited longer than it may for the context.
  QueueTimeout = "QUEUE_TIMEOUT",
  /// llama.cpp reported a failure while evaluating tokens.
  DecodeFailed = "DECODE_FAILED",
  /// A broken invariant: a bug of this library.
  Internal = "INTERNAL",
}

impl fmt::Display for ErrorCode {
  fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(self.as_str())
  }
}

/// A failure with a stable code and a message that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
  code: ErrorCode,
  message: String,
}

impl EngineError {
  /// An error of `code`; `message` is shown to people and names the remedy where there is one.
  pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
    Self { code, message: message.into() }
  }

  /// The stable code.
  pub const fn code(&self) -> ErrorCode {
    self.code
  }
}

/// Result of every fallible engine operation.
pub type Result<T, E = EngineError> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn codes_are_unique_and_upper_snake_case() {
    let texts: std::collections::HashSet<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(texts.len(), ErrorCode::ALL.len());
    assert!(texts.iter().all(|text| text.chars().all(|c| c.is_ascii_uppercase() || c == '_')));
  }
}
