//! Rules of local inference without I/O on models: what to decode next, when to stop, what fits. No llama.cpp, no napi.

pub mod cancel;
pub mod chat;
pub mod decoder;
pub mod embed;
pub mod error;
pub mod fit;
pub mod generate;
pub mod gguf;
pub mod hardware;
pub mod options;
pub mod schedule;
pub mod stats;
pub mod text;
