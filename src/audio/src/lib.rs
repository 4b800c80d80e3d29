//! Hearing: what is done to samples on the CPU, all the time, while a model thinks. No llama.cpp, no napi, no ONNX engine.
//!
//! Samples are mono `f32` in -1..=1 unless a name says otherwise. What is pushed block by block allocates when it is made
//! and never again.

// Signal processing is arithmetic between counts and samples; both stay far below 2^24 where it matters.
#![allow(
  clippy::cast_possible_truncation,
  clippy::cast_possible_wrap,
  clippy::cast_precision_loss,
  clippy::cast_sign_loss
)]

mod dot;
pub mod echo;
pub mod error;
pub mod frame;
pub mod metrics;
mod nn;
pub mod resample;
pub mod ring;
pub mod vad;
pub mod wake;
pub mod wav;
mod weights;

pub use nn::Level;
