//! Rules of local inference without I/O on models: what to decode next, when to stop, what fits. No llama.cpp, no napi.

pub mod cancel;
pub mod chat;
pub mod decoder;
pub mod digest;
pub mod durable;
pub mod embed;
pub mod error;
pub mod fit;
pub mod generate;
pub mod gguf;
pub mod grammar;
pub mod hardware;
pub mod history;
pub mod options;
pub mod prefix;
pub mod schedule;
pub mod speculate;
pub mod stats;
pub mod sync;
pub mod text;
pub mod token;
