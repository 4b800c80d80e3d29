//! Tests with real models, in one program: linking it takes far longer than compiling a file of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its input fails")]

#[path = "../support/mod.rs"]
mod support;

mod amx;
mod architectures;
mod chat_rules;
mod chat_templates;
mod concurrency;
mod damage;
mod embeddings;
mod files;
mod generate;
mod heads;
mod levels;
mod limits;
mod prefix;
mod sampling;
mod speculate;
mod state;
mod text;
