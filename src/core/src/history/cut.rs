//! Beginnings and ends of a history, which divide no media.

use std::ops::Range;

use super::History;
use super::span::Span;

impl History {
  /// The longest length of at most `cells` that divides no media.
  pub fn floor(&self, cells: usize) -> usize {
    self.dividing(cells).map_or(cells.min(self.cells), |media| media.start)
  }

  /// The shortest length of at least `cells` that divides no media.
  pub fn ceil(&self, cells: usize) -> usize {
    self.dividing(cells).map_or(cells.min(self.cells), |media| media.end)
  }

  /// The cells of the media that a length would divide.
  fn dividing(&self, length: usize) -> Option<Range<usize>> {
    if length + self.tail().len() >= self.cells {
      return None;
    }
    let mut end = 0;
    for span in &self.spans {
      let start = end;
      end += span.size().0;
      if length < end {
        return matches!(span, Span::Media(_)).then_some(start..end).filter(|media| media.start < length);
      }
    }
    None
  }

  /// The first `cells` cells.
  #[must_use]
  pub fn prefix(&self, cells: usize) -> Self {
    let mut prefix = Self::default();
    prefix.append(self.after(0), cells);
    prefix
  }

  /// Keeps the first `cells` cells; media that would go on there are dropped.
  pub fn truncate(&mut self, cells: usize) {
    while self.cells > cells {
      match self.spans.last_mut() {
        Some(Span::Text(tokens)) if self.cells - tokens.len() < cells => {
          let dropped = self.cells - cells;
          tokens.truncate(tokens.len() - dropped);
          self.cells -= dropped;
          self.positions -= dropped;
        }
        Some(span) => {
          let (cells, positions) = span.size();
          self.cells -= cells;
          self.positions -= positions;
          self.spans.pop();
        }
        None => return,
      }
    }
  }

  /// Removes cells from the middle, whose ends divide no media. What comes after moves forward.
  pub fn remove(&mut self, cells: Range<usize>) {
    if let [Span::Text(tokens)] = &mut self.spans[..] {
      let before = tokens.len();
      tokens.drain(cells);
      let removed = before - tokens.len();
      self.cells -= removed;
      self.positions -= removed;
      self.spans.retain(|span| span.size().0 > 0);
      return;
    }
    let mut kept = self.prefix(cells.start);
    kept.append(self.after(cells.end), self.cells);
    *self = kept;
  }
}
