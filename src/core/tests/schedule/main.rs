//! The scheduler and the generations it runs, over a fake decoder.

#[path = "../support/mod.rs"]
mod support;

mod backpressure;
mod batches;
mod cache;
mod cancel;
mod constraint;
mod conversation;
mod failures;
mod full;
mod lanes;
mod limits;
mod media;
mod media_properties;
mod parallel;
mod prefix;
mod properties;
mod queue;
mod room;
mod speculation;
mod text;
mod usage;
