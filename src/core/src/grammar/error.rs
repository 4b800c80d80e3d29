//! The error of a grammar that cannot be used.

use crate::error::{EngineError, ErrorCode};

/// A `GRAMMAR_INVALID` error.
pub(super) fn invalid(reason: impl std::fmt::Display) -> EngineError {
  EngineError::new(ErrorCode::GrammarInvalid, format!("the grammar is not valid: {reason}"))
}
