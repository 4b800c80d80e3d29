//! One request's life: prompt tokens in, text pieces out, and the rules that end it.

mod constrained;
mod event;
mod generation;
mod limits;
mod request;

pub(crate) use constrained::guard;
pub use event::{Event, FinishReason, Finished, Piece, Sink};
pub(crate) use generation::{Generation, Progress, Start};
pub(crate) use limits::{check_request, context_full};
pub use request::Request;
