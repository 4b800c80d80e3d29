//! Laws of the text stages, against the plainest reading of them on the whole text.

use local_inference_core::text::{ReasoningTags, TextDelta, TextOptions, TextPipeline};
use proptest::collection::vec;
use proptest::prelude::*;

/// Few letters, so that stops and tags overlap themselves, each other and the text; two of them have several bytes.
fn text() -> impl Strategy<Value = String> {
  "[abé🦀\n<>]{0,60}"
}

fn stop_list() -> impl Strategy<Value = Vec<String>> {
  vec("[abé🦀\n]{0,5}", 0..5)
}

fn tags() -> impl Strategy<Value = ReasoningTags> {
  ("<[ab]{0,2}>?", vec("[>ab\n]{0,3}", 0..3), any::<bool>()).prop_map(|(start, ends, open)| ReasoningTags {
    start,
    ends,
    open,
  })
}

fn options() -> impl Strategy<Value = TextOptions> {
  (stop_list(), proptest::option::of(tags())).prop_map(|(stops, reasoning)| TextOptions { stops, reasoning })
}

/// Lengths of pieces; what they do not cover is the last piece.
fn cuts() -> impl Strategy<Value = Vec<usize>> {
  vec(0_usize..6, 0..80)
}

fn pieces<'a>(mut bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
  let mut pieces = Vec::new();
  for &cut in cuts {
    let (piece, rest) = bytes.split_at(cut.min(bytes.len()));
    pieces.push(piece);
    bytes = rest;
  }
  pieces.push(bytes);
  pieces
}

fn run(options: &TextOptions, pieces: &[&[u8]]) -> TextDelta {
  let mut pipeline = TextPipeline::new(options.clone());
  let mut whole = TextDelta::default();
  let mut deltas: Vec<TextDelta> = pieces.iter().map(|piece| pipeline.push(piece)).collect();
  deltas.push(pipeline.finish());
  for delta in deltas {
    assert!(whole.stop.is_none() || delta == TextDelta::default(), "{delta:?} after a stop");
    whole.text.push_str(&delta.text);
    whole.reasoning.push_str(&delta.reasoning);
    whole.stop = whole.stop.or(delta.stop);
  }
  whole
}

/// The longest pattern that matches at the earliest place.
fn find<'a>(text: &str, patterns: impl IntoIterator<Item = &'a String>) -> Option<(usize, &'a String)> {
  let found = patterns.into_iter().filter(|pattern| !pattern.is_empty());
  found
    .filter_map(|pattern| text.find(pattern.as_str()).map(|at| (at, pattern)))
    .min_by_key(|(at, pattern)| (*at, std::cmp::Reverse(pattern.len())))
}

/// Answer and reasoning of a whole text.
fn split(mut rest: &str, tags: &ReasoningTags) -> (String, String) {
  let mut parts = [String::new(), String::new()];
  let mut inside = tags.open;
  let mut after_tag = tags.open;
  loop {
    let found = if inside { find(rest, &tags.ends) } else { find(rest, [&tags.start]) };
    let piece = &rest[..found.map_or(rest.len(), |(at, _)| at)];
    parts[usize::from(inside)].push_str(if after_tag { piece.trim_start_matches('\n') } else { piece });
    let Some((at, tag)) = found else {
      let [answer, reasoning] = parts;
      return (answer, reasoning);
    };
    rest = &rest[at + tag.len()..];
    inside = !inside;
    after_tag = true;
  }
}

/// How much of the end of `text` may still become a stop.
fn held_bytes(text: &str, stops: &[String]) -> usize {
  let may_grow = |tail: &str| stops.iter().any(|stop| stop.len() > tail.len() && stop.starts_with(tail));
  text.char_indices().map(|(at, _)| &text[at..]).find(|tail| may_grow(tail)).map_or(0, str::len)
}

proptest! {
  #[test]
  fn cutting_the_bytes_differently_changes_nothing(
    bytes in prop_oneof![text().prop_map(String::into_bytes), vec(any::<u8>(), 0..60)],
    options in options(),
    cuts in cuts(),
  ) {
    prop_assert_eq!(run(&options, &pieces(&bytes, &cuts)), run(&options, &[&bytes]));
  }

  #[test]
  fn without_stops_and_tags_the_text_is_the_lossy_decoding(
    bytes in vec(prop_oneof![any::<u8>(), 0xC0_u8.., 0x80_u8..0xC0], 0..60),
    cuts in cuts(),
  ) {
    let whole = run(&TextOptions::default(), &pieces(&bytes, &cuts));
    prop_assert_eq!(whole.text, String::from_utf8_lossy(&bytes));
  }

  #[test]
  fn the_answer_ends_before_the_earliest_longest_stop(text in text(), stops in stop_list(), cuts in cuts()) {
    let options = TextOptions { stops: stops.clone(), reasoning: None };
    let whole = run(&options, &pieces(text.as_bytes(), &cuts));
    let found = find(&text, &stops);
    prop_assert_eq!(whole.text, &text[..found.map_or(text.len(), |(at, _)| at)]);
    prop_assert_eq!(whole.stop.as_ref(), found.map(|(_, stop)| stop));
  }

  #[test]
  fn reasoning_and_answer_are_those_of_the_whole_text(text in text(), tags in tags(), cuts in cuts()) {
    let (answer, reasoning) = split(&text, &tags);
    let whole = run(&TextOptions { stops: Vec::new(), reasoning: Some(tags) }, &pieces(text.as_bytes(), &cuts));
    prop_assert_eq!((whole.text, whole.reasoning), (answer, reasoning));
  }

  #[test]
  fn the_answer_never_contains_a_stop(text in text(), options in options(), cuts in cuts()) {
    let whole = run(&options, &pieces(text.as_bytes(), &cuts));
    prop_assert_eq!(find(&whole.text, &options.stops), None);
  }

  #[test]
  fn no_more_is_held_than_may_become_a_stop(text in text(), stops in stop_list()) {
    let mut pipeline = TextPipeline::new(TextOptions { stops: stops.clone(), reasoning: None });
    let mut emitted = String::new();
    for (at, character) in text.char_indices() {
      let seen = &text[..at + character.len_utf8()];
      let delta = pipeline.push(character.encode_utf8(&mut [0; 4]).as_bytes());
      emitted.push_str(&delta.text);
      if delta.stop.is_some() {
        break;
      }
      prop_assert_eq!(&emitted, &seen[..seen.len() - held_bytes(seen, &stops)]);
    }
  }

  #[test]
  fn no_more_is_held_than_may_become_a_tag(text in "[ab<]{0,40}") {
    let tags = ReasoningTags { start: "<ab<a>".into(), ends: vec![">".into()], open: false };
    let mut pipeline = TextPipeline::new(TextOptions { stops: Vec::new(), reasoning: Some(tags.clone()) });
    let mut emitted = String::new();
    for end in 1..=text.len() {
      emitted.push_str(&pipeline.push(&text.as_bytes()[end - 1..end]).text);
      let held = held_bytes(&text[..end], std::slice::from_ref(&tags.start));
      prop_assert_eq!(&emitted, &text[..end - held]);
    }
  }
}
