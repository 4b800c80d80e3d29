//! Histories of text and media, against vectors of tokens and lists of cells.

use local_inference_core::decoder::Token;
use local_inference_core::history::{History, Span};
use proptest::collection::vec;
use proptest::prelude::*;

use super::cells::{Cell, build, cells, cells_of, divides, media, parts, shared};

/// Positions of cells: of a token its own, of media where these begin; then the one after the last.
fn positions(cells: &[Cell]) -> Vec<usize> {
  let mut positions = Vec::new();
  let mut next = 0;
  for cell in cells {
    match cell {
      Cell::Token(_) => {
        positions.push(next);
        next += 1;
      }
      Cell::Media(media, index) => {
        positions.push(next);
        if index + 1 == media.cells() {
          next += media.positions();
        }
      }
    }
  }
  positions.push(next);
  positions
}

/// Tokens of a prompt with an image of six cells and three positions between its texts.
fn around_an_image() -> History {
  let mut history = History::from([5, 6]);
  history.push_media(media(1, 6, 3));
  history.extend_from_slice(&[7, 8]);
  history
}

#[test]
fn media_take_fewer_positions_than_cells() {
  let history = around_an_image();
  assert_eq!((history.len_cells(), history.position(10)), (10, 7));
  assert_eq!([0, 1, 2, 5, 8, 9].map(|cell| history.position(cell)), [0, 1, 2, 2, 5, 6]);
  assert_eq!([0, 2, 3, 4, 5, 6, 7].map(|position| history.cells_before(position)), [0, 2, 2, 2, 8, 9, 10]);
  assert_eq!([1, 2, 8, 10].map(|cell| history.token(cell)), [Some(6), None, Some(7), None]);
}

#[test]
fn media_are_dropped_as_a_whole() {
  let whole = around_an_image();
  let truncated = |cells| {
    let mut history = whole.clone();
    history.truncate(cells);
    history
  };
  assert_eq!(truncated(9).tail(), [7]);
  assert_eq!(truncated(8).tail(), [] as [Token; 0]);
  assert_eq!(truncated(7), History::from([5, 6]));
  assert_eq!((whole.floor(7), whole.ceil(7), whole.floor(8), whole.floor(99)), (2, 8, 8, 10));
}

#[test]
fn only_the_same_media_match() {
  let with = |id, cells, positions| {
    let mut history = History::from([5, 6]);
    history.push_media(media(id, cells, positions));
    history.push(7);
    history
  };
  let history = around_an_image();
  assert_eq!(history.common_prefix(&with(1, 6, 3)), 9);
  for other in [with(2, 6, 3), with(1, 5, 3), with(1, 6, 2), [5, 6, 1].into()] {
    assert_eq!(history.common_prefix(&other), 2);
  }
}

#[test]
fn removing_what_lies_between_two_texts_makes_one_of_them() {
  let mut history = around_an_image();
  history.remove(1..8);
  assert_eq!(history.spans(), [Span::Text(vec![5, 7, 8])]);
  assert_eq!((history.len_cells(), history.position(3)), (3, 3));
}

proptest! {
  #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

  /// With text alone a history is its vector of tokens.
  #[test]
  fn a_text_behaves_as_its_tokens(
    mut tokens in vec(0..4, 0..20), more in vec(0..4, 0..8), other in vec(0..4, 0..20), cut in 0_usize..24, at in 0_usize..20
  ) {
    let mut history = History::from(tokens.clone());
    history.extend_from_slice(&more);
    tokens.extend(&more);
    history.push(3);
    tokens.push(3);
    prop_assert_eq!(history.as_text(), Some(&tokens[..]));
    prop_assert_eq!((history.tail(), &*history.text()), (&tokens[..], &tokens[..]));
    prop_assert_eq!(history.bytes(), 4 * tokens.len());
    for index in 0..=tokens.len() {
      prop_assert_eq!((history.position(index), history.cells_before(index)), (index, index));
      prop_assert_eq!(history.token(index), tokens.get(index).copied());
      prop_assert_eq!((history.floor(index), history.ceil(index)), (index, index));
    }
    let common = tokens.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let other = History::from(other);
    prop_assert_eq!(history.common_prefix(&other), common);
    prop_assert_eq!(history.starts_with(&other), tokens.starts_with(other.as_text().unwrap()));
    let (at, end) = (at.min(tokens.len()), (at + cut).min(tokens.len()));
    let mut removed = history.clone();
    removed.remove(at..end);
    prop_assert_eq!(&removed, &History::from([&tokens[..at], &tokens[end..]].concat()));
    history.truncate(cut);
    tokens.truncate(cut);
    prop_assert_eq!(history, History::from(tokens));
  }

  /// With media it is a list of cells, of which those of media are not divided.
  #[test]
  fn a_history_is_a_list_of_cells(ours in parts(), theirs in parts(), cut in 0_usize..30, end in 0_usize..30) {
    let (history, list) = (build(&ours), cells(&ours));
    prop_assert_eq!(&cells_of(&history), &list);
    prop_assert_eq!(history.len_cells(), list.len());
    let positions = positions(&list);
    for (cell, &position) in positions.iter().enumerate() {
      prop_assert_eq!(history.position(cell), position);
      let token = match list.get(cell) {
        Some(Cell::Token(token)) => Some(*token),
        _ => None,
      };
      prop_assert_eq!(history.token(cell), token);
      if !divides(&list, cell) {
        prop_assert_eq!(history.cells_before(position), cell);
      }
    }
    let other = cells(&theirs);
    prop_assert_eq!(history.common_prefix(&build(&theirs)), shared(&list, &other));
    prop_assert_eq!(history.starts_with(&build(&theirs)), list.starts_with(&other));
    prop_assert_eq!(history == build(&theirs), list == other);

    let floor = (0..=cut.min(list.len())).rev().find(|&at| !divides(&list, at)).unwrap();
    let ceil = (cut.min(list.len())..=list.len()).find(|&at| !divides(&list, at)).unwrap();
    prop_assert_eq!((history.floor(cut), history.ceil(cut)), (floor, ceil));
    let mut truncated = history.clone();
    truncated.truncate(cut);
    prop_assert_eq!(cells_of(&truncated), &list[..floor]);
    prop_assert_eq!(&history.prefix(cut), &truncated);
    let mut again = truncated;
    again.append(history.after(floor), list.len());
    prop_assert_eq!(&again, &history);
    let end = history.ceil(end.max(floor));
    again.remove(floor..end);
    prop_assert_eq!(cells_of(&again), [&list[..floor], &list[end..]].concat());
  }
}
