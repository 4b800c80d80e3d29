//! Bytes to characters: a token may end in the middle of one.

const REPLACEMENT: &str = "\u{FFFD}";

/// Completes characters across tokens; holds at most three bytes.
#[derive(Debug, Default)]
pub(super) struct Utf8Assembler {
  held: Vec<u8>,
}

impl Utf8Assembler {
  /// Bytes of a character that is not complete.
  pub(super) fn held(&self) -> usize {
    self.held.len()
  }

  /// The characters that `bytes` completed; invalid sequences become U+FFFD, one for each maximal subpart.
  pub(super) fn push(&mut self, bytes: &[u8]) -> String {
    self.held.extend_from_slice(bytes);
    let mut text = String::with_capacity(self.held.len());
    let mut consumed = 0;
    for chunk in self.held.utf8_chunks() {
      text.push_str(chunk.valid());
      consumed += chunk.valid().len();
      let invalid = chunk.invalid();
      if consumed + invalid.len() == self.held.len() && is_incomplete(invalid) {
        break;
      }
      if !invalid.is_empty() {
        text.push_str(REPLACEMENT);
      }
      consumed += invalid.len();
    }
    self.held.drain(..consumed);
    text
  }

  /// What stands for the bytes of a character that was never completed.
  pub(super) fn finish(&mut self) -> &'static str {
    if std::mem::take(&mut self.held).is_empty() { "" } else { REPLACEMENT }
  }
}

/// Whether more bytes could make a character of `bytes`.
fn is_incomplete(bytes: &[u8]) -> bool {
  std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
  use super::*;

  fn assemble(pieces: &[&[u8]]) -> String {
    let mut assembler = Utf8Assembler::default();
    let mut text: String = pieces.iter().map(|piece| assembler.push(piece)).collect();
    text.push_str(assembler.finish());
    text
  }

  #[test]
  fn a_character_waits_for_its_last_byte() {
    let mut assembler = Utf8Assembler::default();
    let bytes = "🦀".as_bytes();
    for byte in &bytes[..3] {
      assert_eq!(assembler.push(&[*byte]), "");
    }
    assert_eq!(assembler.push(&bytes[3..]), "🦀");
    assert_eq!(assembler.finish(), "");
  }

  #[test]
  fn complete_characters_are_not_held_behind_an_incomplete_one() {
    let mut assembler = Utf8Assembler::default();
    assert_eq!(assembler.push(b"abc\xE2\x82"), "abc");
    assert_eq!(assembler.push(b"\xACd"), "\u{20AC}d");
  }

  #[test]
  fn an_unfinished_character_ends_as_one_replacement() {
    assert_eq!(assemble(&[b"a\xF0\x9F", b"\xA6"]), "a\u{FFFD}");
  }

  #[test]
  fn invalid_sequences_are_replaced_by_maximal_subparts() {
    let bytes = b"\x80a\xC0\xAF\xE2\x82b\xED\xA0\x80\xF4\x90\x80\x80\xF0\x9F\xFFz";
    let pieces: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(assemble(&pieces), String::from_utf8_lossy(bytes));
    assert_eq!(assemble(&[bytes]), String::from_utf8_lossy(bytes));
  }
}
