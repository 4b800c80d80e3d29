//! The only mapping of engine errors to JavaScript: `CODE: message`.

use local_inference_core::error::{EngineError, ErrorCode};
use napi_derive::napi;

/// An engine error as a JavaScript error.
pub(crate) fn to_js(error: EngineError) -> napi::Error {
  napi::Error::from_reason(format!("{}: {error}", error.code()))
}

/// The error of a thread that ended without an answer.
pub(crate) fn lost() -> EngineError {
  EngineError::new(ErrorCode::Internal, "the worker ended without an answer")
}

/// The error of using something that was closed.
pub(crate) fn closed(what: &str) -> EngineError {
  EngineError::new(ErrorCode::Closed, format!("the {what} was closed"))
}

/// Every code that an error can carry.
#[napi]
pub fn error_codes() -> Vec<&'static str> {
  ErrorCode::ALL.iter().map(|code| code.as_str()).collect()
}
