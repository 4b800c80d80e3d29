//! The store of snapshots, against a plain list.

use std::sync::Arc;

use local_inference_core::decoder::{Reach, Token};
use local_inference_core::history::History;
use local_inference_core::prefix::{Label, PrefixStore};
use proptest::collection::vec;
use proptest::prelude::*;

use super::cells::{Cell, Part, build, cells, media, parts, shared};

const ROOMY: usize = 1 << 20;

fn state(bytes: usize) -> Arc<Vec<u8>> {
  Arc::new(vec![7; bytes])
}

fn pinned() -> Label {
  Label { pinned: true, ..Label::default() }
}

fn of(conversation: &str) -> Label {
  Label { conversation: Some(Arc::from(conversation)), ..Label::default() }
}

fn text(tokens: &[Token]) -> History {
  tokens.into()
}

fn usable(store: &PrefixStore, tokens: &[Token]) -> usize {
  store.longest(&text(tokens), tokens.len() - 1).map_or(0, |hit| hit.usable)
}

#[test]
fn a_prompt_finds_the_longest_beginning_whoever_stored_it() {
  let mut store = PrefixStore::new(ROOMY, Reach::Any);
  store.insert(&text(&[1, 2, 3, 4]), state(10), Label::default());
  store.insert(&text(&[1, 2, 5, 6, 7]), state(10), Label::default());
  assert_eq!(usable(&store, &[1, 2, 5, 6, 9, 9]), 4);
  assert_eq!(usable(&store, &[1, 2, 9]), 2);
  assert_eq!(usable(&store, &[9, 1, 2]), 0);
  // The last token of a prompt is always evaluated.
  assert_eq!(usable(&store, &[1, 2, 3, 4]), 3);
}

#[test]
fn where_memory_cannot_go_back_only_whole_snapshots_count() {
  let mut store = PrefixStore::new(ROOMY, Reach::Back(0));
  store.insert(&text(&[1, 2, 3, 4]), state(10), Label::default());
  store.insert(&text(&[1, 2]), state(10), Label::default());
  assert_eq!(usable(&store, &[1, 2, 3, 4, 5]), 4);
  assert_eq!(usable(&store, &[1, 2, 3, 9]), 2);
  assert_eq!(usable(&store, &[1, 2, 3, 4]), 2);
  assert_eq!(store.shared(&text(&[1, 2, 3, 9])), 3);
}

#[test]
fn a_window_lets_a_snapshot_go_back_by_one() {
  let mut store = PrefixStore::new(ROOMY, Reach::Back(1));
  store.insert(&text(&[1, 2, 3, 4]), state(10), Label::default());
  assert_eq!(usable(&store, &[1, 2, 3, 4]), 3);
  assert_eq!(usable(&store, &[1, 2, 3, 9]), 3);
  assert_eq!(usable(&store, &[1, 2, 9, 9]), 0);
}

#[test]
fn the_longest_unused_goes_first_and_pinned_ones_last() {
  let mut store = PrefixStore::new(300, Reach::Any);
  store.insert(&text(&[1, 1]), state(92), pinned());
  store.insert(&text(&[2, 2]), state(92), Label::default());
  store.insert(&text(&[3, 3]), state(92), Label::default());
  let hit = store.longest(&text(&[2, 2, 9]), 2).unwrap();
  assert!(store.take(hit).is_some());
  store.insert(&text(&[4, 4]), state(92), Label::default());
  let left: Vec<_> = (1..5).map(|token| store.covers(&text(&[token, token]))).collect();
  assert_eq!((left, store.bytes()), (vec![true, true, false, true], 300));
}

#[test]
fn pins_beyond_their_share_become_ordinary() {
  let mut store = PrefixStore::new(400, Reach::Any);
  for token in 1..5 {
    store.insert(&text(&[token, token]), state(92), pinned());
  }
  store.insert(&text(&[9, 9]), state(92), Label::default());
  assert!(!store.covers(&text(&[1, 1])) && store.covers(&text(&[4, 4])) && store.covers(&text(&[9, 9])));
}

#[test]
fn a_snapshot_larger_than_the_budget_is_refused() {
  let mut store = PrefixStore::new(50, Reach::Any);
  assert!(!store.insert(&text(&[1, 2]), state(60), of("a")));
  assert_eq!((store.len(), store.bytes(), store.take_lost().len()), (0, 0, 0));
}

#[test]
fn a_longer_snapshot_replaces_its_beginnings_but_not_pinned_ones() {
  let mut store = PrefixStore::new(ROOMY, Reach::Any);
  store.insert(&text(&[1, 2]), state(10), pinned());
  store.insert(&text(&[1, 2, 3]), state(10), Label::default());
  store.insert(&text(&[1, 2, 3, 4]), state(10), Label::default());
  assert_eq!(store.len(), 2);
  let mut exact = PrefixStore::new(ROOMY, Reach::Back(0));
  exact.insert(&text(&[1, 2]), state(10), Label::default());
  exact.insert(&text(&[1, 2, 3]), state(10), Label::default());
  assert_eq!(exact.len(), 2);
}

#[test]
fn conversations_whose_snapshots_went_are_named() {
  let mut store = PrefixStore::new(110, Reach::Any);
  store.insert(&text(&[1, 1]), state(92), of("a"));
  store.insert(&text(&[2, 2]), state(92), of("b"));
  assert_eq!(store.take_lost(), [Arc::from("a")]);
  assert!(store.take_lost().is_empty());
}

#[test]
fn a_snapshot_of_an_image_serves_prompts_with_that_image() {
  let with = |image: u64, last: Token| {
    build(&[Part::Text(vec![1]), Part::Media(media(image, 6, 3)), Part::Text(vec![2, last])])
  };
  let mut store = PrefixStore::new(ROOMY, Reach::Any);
  store.insert(&with(1, 3), state(10), Label::default());
  store.insert(&with(2, 3), state(10), Label::default());
  assert_eq!(store.longest(&with(1, 4), 8).map(|hit| hit.usable), Some(8));
  assert_eq!(store.longest(&with(3, 4), 8).map(|hit| hit.usable), Some(1));
  assert_eq!(store.len(), 2);
}

#[derive(Debug, Clone)]
enum Action {
  Insert(Vec<Token>, usize, bool),
  Use(Vec<Token>),
}

fn tokens() -> impl Strategy<Value = Vec<Token>> {
  vec(0_i32..3, 1..9)
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
  let action = prop_oneof![
    3 => (tokens(), 1_usize..200, any::<bool>()).prop_map(|(tokens, bytes, pin)| Action::Insert(tokens, bytes, pin)),
    1 => tokens().prop_map(Action::Use),
  ];
  vec(action, 1..60)
}

/// What a list of everything stored says.
fn expected<T: PartialEq>(stored: &[Vec<T>], reach: Reach, prompt: &[T], limit: usize) -> usize {
  let shared = |entry: &[T]| entry.iter().zip(prompt).take_while(|(a, b)| a == b).count();
  stored.iter().map(|entry| reach.usable(entry.len(), shared(entry), limit)).max().unwrap_or(0)
}

proptest! {
  #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

  /// With room for everything the tree finds what a search of all that was ever stored finds.
  #[test]
  fn the_tree_finds_what_a_list_finds(
    entries in vec(tokens(), 0..20), prompt in tokens(), back in proptest::option::of(0_usize..3), cut in 0_usize..3
  ) {
    let reach = back.map_or(Reach::Any, Reach::Back);
    let mut store = PrefixStore::new(ROOMY, reach);
    for entry in &entries {
      store.insert(&text(entry), state(1), Label::default());
    }
    let limit = prompt.len().saturating_sub(cut);
    let found = store.longest(&text(&prompt), limit).map_or(0, |hit| hit.usable);
    prop_assert_eq!(found, expected(&entries, reach, &prompt, limit));
    let shared = entries.iter().map(|entry| entry.iter().zip(&prompt).take_while(|(a, b)| a == b).count());
    prop_assert_eq!(store.shared(&text(&prompt)), shared.max().unwrap_or(0));
  }

  /// The same with media, which match as a whole.
  #[test]
  fn the_tree_finds_media_as_a_list_of_cells_does(
    entries in vec(parts(), 0..20), prompt in parts(), back in proptest::option::of(0_usize..3)
  ) {
    let reach = back.map_or(Reach::Any, Reach::Back);
    let mut store = PrefixStore::new(ROOMY, reach);
    let entries: Vec<_> = entries.into_iter().filter(|parts| !cells(parts).is_empty()).collect();
    for entry in &entries {
      prop_assert!(store.insert(&build(entry), state(1), Label::default()));
    }
    let (history, list) = (build(&prompt), cells(&prompt));
    let entries: Vec<Vec<Cell>> = entries.iter().map(|parts| cells(parts)).collect();
    let found = store.longest(&history, list.len()).map_or(0, |hit| hit.usable);
    prop_assert_eq!(found, expected(&entries, reach, &list, list.len()));
    let most = entries.iter().map(|entry| shared(entry, &list)).max();
    prop_assert_eq!(store.shared(&history), most.unwrap_or(0));
  }

  /// The budget holds at every moment, the newest snapshot is always there, and a hit always has its bytes.
  #[test]
  fn the_budget_always_holds(actions in actions(), budget in 50_usize..600, exact in any::<bool>()) {
    let mut store = PrefixStore::new(budget, if exact { Reach::Back(0) } else { Reach::Any });
    for action in actions {
      match action {
        Action::Insert(tokens, bytes, pin) => {
          let fits = bytes + 4 * tokens.len() <= budget;
          let label = Label { pinned: pin, ..Label::default() };
          let pins_leave = budget - budget / 4 * 3;
          let kept = store.insert(&text(&tokens), state(bytes), label);
          prop_assert!(fits || !kept);
          prop_assert!(kept || bytes + 4 * tokens.len() > pins_leave);
          prop_assert_eq!(kept, kept && store.covers(&text(&tokens)));
        }
        Action::Use(tokens) => {
          if let Some(hit) = store.longest(&text(&tokens), tokens.len()) {
            prop_assert!(store.take(hit).is_some());
          }
        }
      }
      prop_assert!(store.bytes() <= budget);
      prop_assert_eq!(store.is_empty(), store.bytes() == 0);
    }
  }
}
