//! A fake decoder and what the scheduler's tests need around it.

pub(crate) mod fake;
pub(crate) mod model;
pub(crate) mod setup;
pub(crate) mod sink;
pub(crate) mod solo;
pub(crate) mod state;
