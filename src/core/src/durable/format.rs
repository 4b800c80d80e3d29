//! A file: header, history, state. All numbers are little-endian.

use std::fmt;

use super::fingerprint::Fingerprint;
use super::words::{WORD_BYTES, decode_history, encode_history};
use crate::digest::Digest;
use crate::history::History;

const MAGIC: [u8; 8] = *b"LIKVSTAT";
/// Of a file with text alone. With media it is the next one, so that a reader without media takes neither.
const VERSION: u64 = 1;
const WITH_MEDIA: u64 = 2;
/// Eight-byte numbers after the magic.
const NUMBERS: usize = 13;
/// Length of the header.
pub const HEADER_BYTES: usize = 8 * (1 + NUMBERS);

/// Why a file is of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ignored {
  /// It cannot be read.
  Unreadable(String),
  /// It is something else.
  NotAState,
  /// Another version of the format.
  OtherVersion,
  /// Made with another model, or another file of it.
  OtherModel,
  /// Made with other types of the KV cache, or other attention.
  OtherSettings,
  /// Made by another version of the engine.
  OtherBuild,
  /// Of another conversation.
  OtherConversation,
  /// Shorter or longer than it says, or changed.
  Damaged,
  /// It begins differently than the prompt.
  OtherPrompt,
}

impl fmt::Display for Ignored {
  fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match self {
      Self::Unreadable(reason) => write!(f, "the stored state cannot be read: {reason}"),
      Self::NotAState => f.write_str("the file is not a stored state"),
      Self::OtherVersion => f.write_str("the stored state has another format"),
      Self::OtherModel => f.write_str("the stored state belongs to another model file"),
      Self::OtherSettings => f.write_str("the stored state was made with other KV cache settings"),
      Self::OtherBuild => f.write_str("the stored state was made by another version of the engine"),
      Self::OtherConversation => f.write_str("the stored state belongs to another conversation"),
      Self::Damaged => f.write_str("the stored state is damaged"),
      Self::OtherPrompt => f.write_str("the stored state begins differently than the prompt"),
    }
  }
}

/// What a file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
  version: u64,
  fingerprint: Fingerprint,
  conversation: [u64; 2],
  /// Four-byte numbers of the history: one a token.
  pub words: u64,
  /// Bytes of the state.
  pub state: u64,
  checksum: [u64; 2],
}

impl Header {
  /// The header for a state.
  pub fn new(fingerprint: Fingerprint, conversation: &str, history: &History, state: &[u8]) -> Self {
    let words = encode_history(history);
    Self {
      version: version_of(history),
      fingerprint,
      conversation: Digest::of(conversation.as_bytes()),
      words: (words.len() / WORD_BYTES) as u64,
      state: state.len() as u64,
      checksum: checksum(&words, state),
    }
  }

  /// The bytes of the header.
  pub fn encode(&self) -> [u8; HEADER_BYTES] {
    let Fingerprint { model, settings, build } = self.fingerprint;
    let numbers = [self.version, self.words, self.state].into_iter();
    let numbers =
      numbers.chain([model, settings, build, self.conversation, self.checksum].into_iter().flatten());
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    for (place, number) in bytes[8..].as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
      *place = number.to_le_bytes();
    }
    bytes
  }

  /// Reads the header of a file of `length` bytes and checks everything but its content.
  pub fn parse(
    bytes: &[u8; HEADER_BYTES],
    length: u64,
    expected: &Fingerprint,
    conversation: &str,
  ) -> Result<Self, Ignored> {
    if bytes[..8] != MAGIC {
      return Err(Ignored::NotAState);
    }
    let mut numbers = [0; NUMBERS];
    for (number, place) in numbers.iter_mut().zip(bytes[8..].as_chunks::<8>().0) {
      *number = u64::from_le_bytes(*place);
    }
    let [version, words, state, m0, m1, s0, s1, b0, b1, c0, c1, x0, x1] = numbers;
    let fingerprint = Fingerprint { model: [m0, m1], settings: [s0, s1], build: [b0, b1] };
    let header = Self { version, fingerprint, conversation: [c0, c1], words, state, checksum: [x0, x1] };
    let content = words.checked_mul(WORD_BYTES as u64).and_then(|bytes| bytes.checked_add(state));
    let whole = content.and_then(|bytes| bytes.checked_add(HEADER_BYTES as u64));
    if !(VERSION..=WITH_MEDIA).contains(&version) {
      Err(Ignored::OtherVersion)
    } else if fingerprint.model != expected.model {
      Err(Ignored::OtherModel)
    } else if fingerprint.build != expected.build {
      Err(Ignored::OtherBuild)
    } else if fingerprint.settings != expected.settings {
      Err(Ignored::OtherSettings)
    } else if header.conversation != Digest::of(conversation.as_bytes()) {
      Err(Ignored::OtherConversation)
    } else if whole == Some(length) {
      Ok(header)
    } else {
      Err(Ignored::Damaged)
    }
  }

  /// The history of a file's content, if it is what was written.
  pub fn check(&self, words: &[u8], state: &[u8]) -> Result<History, Ignored> {
    if checksum(words, state) != self.checksum {
      return Err(Ignored::Damaged);
    }
    let history = decode_history(words).ok_or(Ignored::Damaged)?;
    if version_of(&history) == self.version { Ok(history) } else { Err(Ignored::Damaged) }
  }
}

fn version_of(history: &History) -> u64 {
  if history.as_text().is_some() { VERSION } else { WITH_MEDIA }
}

fn checksum(words: &[u8], state: &[u8]) -> [u64; 2] {
  let mut digest = Digest::default();
  digest.piece(words);
  digest.piece(state);
  digest.finish()
}
