//! The end of a history, borrowed.

use super::span::{Media, Span};
use crate::token::Token;

/// What a history has after some length. Iterates over its stretches, none of which is empty.
#[derive(Debug, Clone)]
pub struct Rest<'a> {
  /// The end of a text span whose beginning is left out.
  first: &'a [Token],
  spans: &'a [Span],
}

/// A stretch of a history, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch<'a> {
  /// Text tokens.
  Text(&'a [Token]),
  /// Media.
  Media(Media),
}

impl<'a> Rest<'a> {
  pub(super) fn new(first: &'a [Token], spans: &'a [Span]) -> Self {
    Self { first, spans }
  }

  /// Cells that both begin with.
  pub fn common_prefix(self, other: Self) -> usize {
    let (mut ours, mut theirs) = (self, other);
    let mut shared = 0;
    loop {
      match (ours.next(), theirs.next()) {
        (Some(Stretch::Text(a)), Some(Stretch::Text(b))) => {
          let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
          shared += same;
          // Where one text ends before the other, it is followed by media or by nothing.
          if same < a.len().max(b.len()) {
            return shared;
          }
        }
        (Some(Stretch::Media(a)), Some(Stretch::Media(b))) if a == b => shared += a.cells(),
        _ => return shared,
      }
    }
  }
}

impl<'a> Iterator for Rest<'a> {
  type Item = Stretch<'a>;

  fn next(&mut self) -> Option<Stretch<'a>> {
    if !self.first.is_empty() {
      return Some(Stretch::Text(std::mem::take(&mut self.first)));
    }
    let (span, rest) = self.spans.split_first()?;
    self.spans = rest;
    Some(match span {
      Span::Text(tokens) => Stretch::Text(tokens),
      Span::Media(media) => Stretch::Media(*media),
    })
  }
}

impl<'a> Stretch<'a> {
  /// Cells that it takes.
  pub fn cells(&self) -> usize {
    match self {
      Self::Text(tokens) => tokens.len(),
      Self::Media(media) => media.cells(),
    }
  }

  /// Its tokens.
  pub fn text(self) -> Option<&'a [Token]> {
    match self {
      Self::Text(tokens) => Some(tokens),
      Self::Media(_) => None,
    }
  }
}
