//! KV caches of conversations on disk: the format of a file, and which files a folder keeps.

mod fingerprint;
mod folder;
mod format;
mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::history::History;
pub use fingerprint::{EXTENSION, Fingerprint};
pub use folder::{StateFile, superfluous};
pub use format::{HEADER_BYTES, Header, Ignored};
pub use words::{WORD_BYTES, encode_history};

/// A sequence's snapshot with the history that it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
  /// What was evaluated, in order.
  pub history: History,
  /// What the context made of them.
  pub state: Arc<Vec<u8>>,
}

/// A snapshot to be stored, and for which conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
  /// Name that the request gave.
  pub conversation: Arc<str>,
  /// What to store.
  pub saved: Saved,
}

/// What is on disk of a request's conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Stored {
  /// Nothing, or nothing was looked for.
  #[default]
  Nothing,
  /// A snapshot that this context can take.
  Found(Saved),
  /// Something that cannot be used, and why.
  Ignored(String),
}

/// Where a context stores the KV caches of conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateOptions {
  /// The folder; made when it is missing. Several contexts and processes may share it.
  pub folder: PathBuf,
  /// Most bytes of all files together, at least 1. Default 2 GiB.
  pub bytes: u64,
  /// Files unused for longer are removed. Default 7 days.
  pub time_to_live: Duration,
  /// Whether to write while the machine runs from its battery. Default false.
  pub on_battery: bool,
}

impl StateOptions {
  /// The defaults for `folder`.
  pub fn new(folder: PathBuf) -> Self {
    Self { folder, bytes: 2 << 30, time_to_live: Duration::from_hours(7 * 24), on_battery: false }
  }
}
