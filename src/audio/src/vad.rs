//! Voice activity: is somebody speaking, and from when to when.

pub(crate) mod network;
mod segment;
mod stream;

pub use network::{Network, RATE, Version, WINDOW};
pub use segment::{Change, SegmentRules, Segmenter};
pub(crate) use stream::check_finite;
pub use stream::{Event, Vad};
