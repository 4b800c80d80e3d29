//! A history as it is stored: four-byte numbers.
//!
//! A token is itself. Media are [`MARK`], which no token is, then four numbers of the id, the cells and the positions. So
//! a text looks as it did before there were media.

use std::num::NonZeroU32;

use crate::history::{History, Media, Stretch};
use crate::token::Token;

/// Bytes of a number.
pub const WORD_BYTES: usize = size_of::<Token>();
/// Begins media.
const MARK: Token = -1;
/// Numbers of media after the mark.
const MEDIA_WORDS: usize = 6;

/// A history as it is stored, little-endian.
pub fn encode_history(history: &History) -> Vec<u8> {
  let mut bytes = Vec::with_capacity(history.bytes());
  for stretch in history.after(0) {
    match stretch {
      Stretch::Text(tokens) => bytes.extend(tokens.iter().flat_map(|token| token.to_le_bytes())),
      Stretch::Media(Media { id, cells, positions }) => {
        bytes.extend(MARK.to_le_bytes());
        bytes.extend(id.iter().flat_map(|half| half.to_le_bytes()));
        bytes.extend(cells.get().to_le_bytes());
        bytes.extend(positions.get().to_le_bytes());
      }
    }
  }
  bytes
}

/// What [`encode_history`] has written; `None` for anything else.
pub(super) fn decode_history(bytes: &[u8]) -> Option<History> {
  let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
  let mut words = words.iter().copied().map(Token::from_le_bytes);
  let mut history = History::default();
  let mut text = Vec::with_capacity(words.len());
  while let Some(word) = words.next() {
    match word {
      MARK => {
        history.extend_from_slice(&text);
        text.clear();
        history.push_media(media(&words.by_ref().take(MEDIA_WORDS).collect::<Vec<_>>())?);
      }
      ..MARK => return None,
      token => text.push(token),
    }
  }
  if history.is_empty() {
    history = text.into();
  } else {
    history.extend_from_slice(&text);
  }
  rest.is_empty().then_some(history)
}

fn media(words: &[Token]) -> Option<Media> {
  let &[a, b, c, d, cells, positions] = words else { return None };
  let half = |low: Token, high: Token| u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32;
  let count = |word: Token| NonZeroU32::new(word.cast_unsigned());
  Some(Media { id: [half(a, b), half(c, d)], cells: count(cells)?, positions: count(positions)? })
}
