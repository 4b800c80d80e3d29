//! Errors of files that cannot be used.

use crate::error::{EngineError, ErrorCode};

/// What to do about a file that is damaged, the end of most messages.
const DOWNLOAD_AGAIN: &str = "the file is damaged or incomplete; download it again";

/// A `MODEL_INVALID` error.
pub(super) fn invalid(message: impl Into<String>) -> EngineError {
  EngineError::new(ErrorCode::ModelInvalid, message)
}

/// A `MODEL_UNSUPPORTED` error.
pub(super) fn unsupported(message: impl Into<String>) -> EngineError {
  EngineError::new(ErrorCode::ModelUnsupported, message)
}

/// A `MODEL_INVALID` error that ends with the advice to fetch the file again.
pub(super) fn damaged(message: impl std::fmt::Display) -> EngineError {
  invalid(format!("{message}; {DOWNLOAD_AGAIN}"))
}
