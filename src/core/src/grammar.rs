//! Output that matches a grammar: what may come next, what must come next, and how to end early and still match.
//!
//! Built on llguidance, an Earley parser over the bytes of a vocabulary (docs/structured-output.md says why).

mod close;
mod compile;
mod constraint;
mod engine;
mod error;
mod gbnf;
mod guard;
mod lexicon;
mod mask;
mod parts;
mod schema;
mod spans;
mod translate;
mod trigger;

pub use compile::Compiled;
pub use constraint::{
  Constraint, ConstraintOptions, ConstraintSource, MAX_SOURCE_BYTES, MAX_SPANS, MAX_TRIGGERS, Span, Trigger,
};
pub use engine::GrammarEngine;
pub(crate) use guard::{Guard, Verdict};
pub use lexicon::{Lexicon, Tokenize};
pub use mask::TokenMask;
