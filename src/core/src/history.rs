//! What a sequence has evaluated, or is to evaluate: text tokens and media, in order.
//!
//! Lengths are counted in cells of the KV cache. A token takes one cell and one position; media take as many of each as
//! their encoder says, and the two may differ (with M-RoPE an image of 30 by 20 patches takes 600 cells and 30
//! positions). A length that falls inside media is none: media are evaluated, matched and dropped as a whole.

mod cut;
mod rest;
mod span;

use std::borrow::Cow;

use crate::token::Token;
pub use rest::{Rest, Stretch};
pub use span::{Media, Span};

/// Text tokens and media, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
  /// No two text spans follow each other.
  spans: Vec<Span>,
  cells: usize,
  positions: usize,
}

impl History {
  /// The spans; no two text spans follow each other, and none is empty.
  pub fn spans(&self) -> &[Span] {
    &self.spans
  }

  /// Cells of the KV cache that it takes.
  pub fn len_cells(&self) -> usize {
    self.cells
  }

  /// Whether there is nothing in it.
  pub fn is_empty(&self) -> bool {
    self.spans.is_empty()
  }

  /// Position of the cell `cell`; of one of media, where the media begin; of the one after the last, where what comes
  /// next goes.
  pub fn position(&self, cell: usize) -> usize {
    let tail = self.tail().len();
    if cell + tail >= self.cells {
      return self.positions - (self.cells - cell);
    }
    let (mut cells, mut positions) = (0, 0);
    for span in &self.spans {
      let (length, advance) = span.size();
      if cell < cells + length {
        return positions + if matches!(span, Span::Text(_)) { cell - cells } else { 0 };
      }
      (cells, positions) = (cells + length, positions + advance);
    }
    positions
  }

  /// Most cells, none of them of media that go on there, that lie before `position`.
  pub fn cells_before(&self, position: usize) -> usize {
    let (mut cells, mut positions) = (0, 0);
    for span in &self.spans {
      let (length, advance) = span.size();
      if position < positions + advance {
        return cells + if matches!(span, Span::Text(_)) { position - positions } else { 0 };
      }
      (cells, positions) = (cells + length, positions + advance);
    }
    cells
  }

  /// Adds a token.
  pub fn push(&mut self, token: Token) {
    self.cells += 1;
    self.positions += 1;
    match self.spans.last_mut() {
      Some(Span::Text(tokens)) => tokens.push(token),
      _ => self.spans.push(Span::Text(vec![token])),
    }
  }

  /// Adds tokens.
  pub fn extend_from_slice(&mut self, tokens: &[Token]) {
    if tokens.is_empty() {
      return;
    }
    self.cells += tokens.len();
    self.positions += tokens.len();
    match self.spans.last_mut() {
      Some(Span::Text(last)) => last.extend_from_slice(tokens),
      _ => self.spans.push(Span::Text(tokens.to_vec())),
    }
  }

  /// Adds media.
  pub fn push_media(&mut self, media: Media) {
    self.cells += media.cells();
    self.positions += media.positions();
    self.spans.push(Span::Media(media));
  }

  /// Adds the first `cells` cells of `rest`; media that would go on there are left out.
  pub fn append(&mut self, rest: Rest<'_>, cells: usize) {
    let mut left = cells;
    for stretch in rest {
      match stretch {
        Stretch::Text(tokens) if tokens.len() >= left => return self.extend_from_slice(&tokens[..left]),
        Stretch::Text(tokens) => self.extend_from_slice(tokens),
        Stretch::Media(media) if media.cells() > left => return,
        Stretch::Media(media) => self.push_media(media),
      }
      left -= stretch.cells();
    }
  }

  /// What comes after the first `cells` cells; from inside media, what comes after these.
  pub fn after(&self, cells: usize) -> Rest<'_> {
    let tail = self.tail();
    let before_tail = self.cells - tail.len();
    if cells >= before_tail {
      return Rest::new(tail.get(cells - before_tail..).unwrap_or_default(), &[]);
    }
    let mut skipped = 0;
    for (index, span) in self.spans.iter().enumerate() {
      if skipped >= cells {
        return Rest::new(&[], &self.spans[index..]);
      }
      let length = span.size().0;
      if let Span::Text(tokens) = span
        && cells < skipped + length
      {
        return Rest::new(&tokens[cells - skipped..], &self.spans[index + 1..]);
      }
      skipped += length;
    }
    Rest::new(&[], &[])
  }

  /// Cells that both begin with; media count when they are the same.
  pub fn common_prefix(&self, other: &Self) -> usize {
    self.after(0).common_prefix(other.after(0))
  }

  /// Whether it begins with all of `other`.
  pub fn starts_with(&self, other: &Self) -> bool {
    other.cells <= self.cells && self.common_prefix(other) == other.cells
  }

  /// The token in the cell `cell`.
  pub fn token(&self, cell: usize) -> Option<Token> {
    match self.after(self.floor(cell)).next() {
      Some(Stretch::Text(tokens)) if cell < self.cells => tokens.first().copied(),
      _ => None,
    }
  }

  /// The tokens after the last media.
  pub fn tail(&self) -> &[Token] {
    match self.spans.last() {
      Some(Span::Text(tokens)) => tokens,
      _ => &[],
    }
  }

  /// The tokens, if there are no media.
  pub fn as_text(&self) -> Option<&[Token]> {
    match &self.spans[..] {
      [] => Some(&[]),
      [Span::Text(tokens)] => Some(tokens),
      _ => None,
    }
  }

  /// The tokens without the media.
  pub fn text(&self) -> Cow<'_, [Token]> {
    match self.as_text() {
      Some(tokens) => Cow::Borrowed(tokens),
      None => Cow::Owned(self.after(0).filter_map(Stretch::text).flatten().copied().collect()),
    }
  }

  /// Bytes that it takes in memory.
  pub fn bytes(&self) -> usize {
    let bytes = self.spans.iter().map(|span| match span {
      Span::Text(tokens) => size_of_val(&tokens[..]),
      Span::Media(media) => size_of_val(media),
    });
    bytes.sum()
  }
}

impl From<Vec<Token>> for History {
  fn from(tokens: Vec<Token>) -> Self {
    let length = tokens.len();
    let spans = if tokens.is_empty() { Vec::new() } else { vec![Span::Text(tokens)] };
    Self { spans, cells: length, positions: length }
  }
}

impl From<&[Token]> for History {
  fn from(tokens: &[Token]) -> Self {
    Self::from(tokens.to_vec())
  }
}

impl<const N: usize> From<[Token; N]> for History {
  fn from(tokens: [Token; N]) -> Self {
    Self::from(tokens.to_vec())
  }
}
