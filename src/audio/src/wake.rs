//! Wake words: is one of a few phrases being said. Features of openWakeWord, and heads that are trained on them.

mod detector;
mod embedding;
mod features;
mod head;
mod mel;

pub use detector::{Detection, Phrase, WakeWords};
pub use features::{CHUNK, EMBEDDING, Features, RATE};
pub use head::Head;
