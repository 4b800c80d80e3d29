//! Our own reader of the GGUF header.
//!
//! llama.cpp parses the same bytes inside this process and answers some malformed files with an assertion, that is,
//! with the end of the process. A file is therefore read and judged here first, and the facts of a model are known
//! without loading its weights. Nothing read from a file decides the size of an allocation before it was compared
//! with the bytes that are left.

mod architectures;
mod error;
mod file;
mod header;
mod hyperparameters;
mod layer;
mod layer_keys;
mod layers;
mod metadata;
mod quantization;
mod read;
mod reader;
mod recurrence;
mod sniff;
mod split;
mod tensor;
mod validate;
mod value;
mod vocabulary;
mod weights;
mod windows;

pub use architectures::ARCHITECTURES;
pub use file::GgufFile;
pub use header::{GgufHeader, ModelKind, Pooling};
pub(crate) use layer::Layer;
pub use metadata::Metadata;
pub use tensor::{TensorInfo, TensorType};
pub use validate::validate;
pub use value::{Array, ArrayContent, StringFacts, Value, ValueType};
