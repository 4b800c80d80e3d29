//! The scheduler and the generations it runs, over a fake decoder.

#[path = "../support/mod.rs"]
mod support;

mod backpressure;
mod batches;
mod cancel;
mod failures;
mod limits;
mod parallel;
mod prefix;
mod properties;
mod room;
mod text;
mod usage;
