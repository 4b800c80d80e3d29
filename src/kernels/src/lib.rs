//! Reference kernels of the vector formats that the Eliza-1 models' makers name: `TurboQuant`, QJL, `PolarQuant`.
//!
//! Nothing here decodes text in this project (docs/kernels.md). The crate knows neither llama.cpp nor JavaScript.

mod attention;
mod codebook;
mod error;
mod format;
mod formats;
mod pack;
mod random;
mod rotation;
mod rows;
mod simd;
mod trellis;
mod verify;

pub use attention::{Heads, KeyValues};
pub use error::KernelError;
pub use format::Format;
pub use random::Xorshift32;
pub use rows::{Query, Rows, encode};
pub use simd::{AbsentInstructionSet, InstructionSet};
pub use trellis::train_trellis;
pub use verify::{Build, Evidence, Gate, InstructionSetEvidence, Processor, Skip, Weights, verify};
