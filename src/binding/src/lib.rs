//! The Node addon: conversions between JavaScript and the engine, no decisions.
#![allow(clippy::needless_pass_by_value, reason = "napi hands arguments over by value")]
#![allow(unreachable_pub, reason = "napi exports what is public in private modules")]
#![allow(missing_docs, reason = "fields are documented in ts/, where users read them")]

mod audio;
mod backend;
mod chat;
mod children;
mod chunk;
mod constraint;
mod context;
mod embedder;
mod error;
mod fit;
mod generate;
mod header;
mod library;
mod loading;
mod metrics;
mod model;
mod numbers;
mod probe;
mod process;
mod promise;
mod stream;
