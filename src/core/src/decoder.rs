//! What the scheduler needs from a model: implemented over llama.cpp, faked in tests.
//!
//! Sequences are spoken of in positions, which media can take fewer of than cells.

mod decode;
mod draft;
mod memory;
mod sample;

pub use crate::token::Token;
pub use decode::{BatchToken, Decode, Decoded, MediaPlace, SequenceId};
pub use draft::{Draft, DraftRequest, Drafted, Draw};
pub use memory::{KvMemory, Reach};
pub use sample::{Among, Logprob, Sample, Sampled, TokenLogprobs};

/// A context of a model that can evaluate and sample several sequences.
pub trait Decoder: Decode + Sample + KvMemory + Draft {}

impl<D: Decode + Sample + KvMemory + Draft> Decoder for D {}
