//! KV caches of conversations on disk: the format of a file, and which files a folder keeps.

mod folder;
mod format;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::decoder::Token;
use crate::digest::{Digest, hex};
pub use folder::{StateFile, superfluous};
pub use format::{HEADER_BYTES, Header, Ignored, encode_tokens};

/// A sequence's snapshot with the tokens that it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
  /// The tokens that were evaluated, in order.
  pub tokens: Vec<Token>,
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

/// What a file must have in common with a context to be of use to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
  /// Of the model's files.
  pub model: [u64; 2],
  /// Of everything that changes the numbers in the cache: types, flash attention, rotation.
  pub settings: [u64; 2],
  /// Of the version of llama.cpp and of this library.
  pub build: [u64; 2],
}

impl Fingerprint {
  /// Name of the file of a conversation. Other settings and builds have the same name, so that their files are replaced.
  pub fn file_name(&self, conversation: &str) -> String {
    let mut digest = Digest::default();
    digest.piece(&self.model[0].to_le_bytes());
    digest.piece(&self.model[1].to_le_bytes());
    digest.piece(conversation.as_bytes());
    format!("{}.{EXTENSION}", hex(digest.finish()))
  }
}

/// Ending of the files in a folder.
pub const EXTENSION: &str = "kvstate";
