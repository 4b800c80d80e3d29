//! What a stored conversation is recognised by.

use crate::digest::{Digest, hex};

/// Ending of the files in a folder.
pub const EXTENSION: &str = "kvstate";

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
