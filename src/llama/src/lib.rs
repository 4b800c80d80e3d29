//! The only crate that sees llama.cpp. Owns models, contexts and samplers as RAII types; makes no decisions of its own.
//!
//! Every call that may throw goes through the shim (`shim/`), which turns C++ exceptions into statuses; everything that
//! llama.cpp would assert on is checked before the call.

pub mod backend;
pub mod chat;
mod constraint;
mod context;
mod draft;
pub mod embedder;
mod ffi;
mod log;
pub mod model;
pub mod running;
mod sample;
mod state;
mod threads;
pub mod tokens;
