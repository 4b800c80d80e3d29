//! What the small networks are made of: one matrix product with an activation, in the best form for this processor.

// A function of one instruction-set level only becomes its instructions where it is inlined into code of that level.
#![allow(clippy::inline_always)]

mod activation;
mod kernel;
mod lanes;
mod layer;
mod level;
mod linear;

pub(crate) use activation::{lstm_cell, sigmoid};
pub(crate) use layer::{Activation, Linear, Span};
pub use level::Level;
