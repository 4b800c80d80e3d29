//! Histories cell by cell: what the spans stand for, in the plainest form.

use std::num::NonZeroU32;

use local_inference_core::decoder::Token;
use local_inference_core::history::{History, Media, Stretch};
use proptest::collection::vec;
use proptest::prelude::*;

/// A cell of the KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell {
  Token(Token),
  /// The media, and which of their cells it is.
  Media(Media, usize),
}

/// A part of a history that is built.
#[derive(Debug, Clone)]
pub(crate) enum Part {
  Text(Vec<Token>),
  Media(Media),
}

pub(crate) fn media(id: u64, cells: u32, positions: u32) -> Media {
  let count = |number| NonZeroU32::new(number).expect("at least 1");
  Media { id: [id, 0], cells: count(cells), positions: count(positions) }
}

/// Few different parts, so that histories often begin alike.
pub(crate) fn parts() -> impl Strategy<Value = Vec<Part>> {
  let part = prop_oneof![
    2 => vec(0..3, 0..5).prop_map(Part::Text),
    1 => (0_u64..2, 1_u32..4, 1_u32..4).prop_map(|(id, cells, positions)| Part::Media(media(id, cells, positions))),
  ];
  vec(part, 0..6)
}

pub(crate) fn build(parts: &[Part]) -> History {
  let mut history = History::default();
  for part in parts {
    match part {
      Part::Text(tokens) => history.extend_from_slice(tokens),
      Part::Media(media) => history.push_media(*media),
    }
  }
  history
}

/// The cells that `parts` stand for.
pub(crate) fn cells(parts: &[Part]) -> Vec<Cell> {
  let cells = parts.iter().flat_map(|part| match part {
    Part::Text(tokens) => tokens.iter().copied().map(Cell::Token).collect::<Vec<_>>(),
    Part::Media(media) => (0..media.cells()).map(|index| Cell::Media(*media, index)).collect(),
  });
  cells.collect()
}

/// The cells of a history.
pub(crate) fn cells_of(history: &History) -> Vec<Cell> {
  let parts = history.after(0).map(|stretch| match stretch {
    Stretch::Text(tokens) => Part::Text(tokens.to_vec()),
    Stretch::Media(media) => Part::Media(media),
  });
  cells(&parts.collect::<Vec<_>>())
}

/// Cells that both begin with.
pub(crate) fn shared(a: &[Cell], b: &[Cell]) -> usize {
  a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Whether a cut before the cell `at` divides no media.
pub(crate) fn divides(cells: &[Cell], at: usize) -> bool {
  matches!(cells.get(at), Some(Cell::Media(_, index)) if *index > 0)
}
