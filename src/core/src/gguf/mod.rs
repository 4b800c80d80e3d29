//! Our own reader of the GGUF header.
//!
//! llama.cpp parses the same bytes inside this process and answers some malformed files with an assertion, that is,
//! with the end of the process. A file is therefore read and judged here first, and the facts of a model are known
//! without loading its weights. Nothing read from a file decides the size of an allocation before it was compared
//! with the bytes that are left.

mod file;
mod header;
mod hyperparameters;
mod layers;
mod metadata;
mod quantization;
mod reader;
mod sniff;
mod split;
mod tensor;
mod validate;
mod value;
mod vocabulary;
mod weights;

pub use file::GgufFile;
pub use header::{GgufHeader, ModelKind, Pooling};
pub(crate) use layers::Layer;
pub use metadata::Metadata;
pub use tensor::{TensorInfo, TensorType};
pub use validate::validate;
pub use value::{Array, ArrayContent, StringFacts, Value, ValueType};

use crate::error::{EngineError, ErrorCode};

/// What to do about a file that is damaged, the end of most messages.
const DOWNLOAD_AGAIN: &str = "the file is damaged or incomplete; download it again";

/// A `MODEL_INVALID` error.
fn invalid(message: impl Into<String>) -> EngineError {
  EngineError::new(ErrorCode::ModelInvalid, message)
}

/// A `MODEL_UNSUPPORTED` error.
fn unsupported(message: impl Into<String>) -> EngineError {
  EngineError::new(ErrorCode::ModelUnsupported, message)
}

/// A `MODEL_INVALID` error that ends with the advice to fetch the file again.
fn damaged(message: impl std::fmt::Display) -> EngineError {
  invalid(format!("{message}; {DOWNLOAD_AGAIN}"))
}
