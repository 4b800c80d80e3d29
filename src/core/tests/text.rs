//! What a caller sees of a generation, token by token.

use local_inference_core::text::{ReasoningTags, TextDelta, TextOptions, TextPipeline};

fn stops(stops: &[&str]) -> TextOptions {
  TextOptions { stops: stops.iter().map(ToString::to_string).collect(), reasoning: None }
}

fn thinking(open: bool, stops: &[&str]) -> TextOptions {
  TextOptions {
    stops: stops.iter().map(ToString::to_string).collect(),
    reasoning: Some(ReasoningTags { start: "<think>".into(), ends: vec!["</think>".into()], open }),
  }
}

fn push_all(pipeline: &mut TextPipeline, tokens: &[&str]) -> Vec<TextDelta> {
  tokens.iter().map(|token| pipeline.push(token.as_bytes())).collect()
}

/// Everything that a generation of `tokens` yields, concatenated.
fn run(options: TextOptions, tokens: &[&str]) -> TextDelta {
  let mut pipeline = TextPipeline::new(options);
  let mut deltas = push_all(&mut pipeline, tokens);
  deltas.push(pipeline.finish());
  TextDelta {
    text: deltas.iter().map(|delta| delta.text.as_str()).collect(),
    reasoning: deltas.iter().map(|delta| delta.reasoning.as_str()).collect(),
    stop: deltas.iter().find_map(|delta| delta.stop.clone()),
  }
}

fn result(text: &str, reasoning: &str, stop: Option<&str>) -> TextDelta {
  TextDelta { text: text.into(), reasoning: reasoning.into(), stop: stop.map(Into::into) }
}

#[test]
fn a_stop_is_found_across_token_borders_and_not_emitted() {
  assert_eq!(
    run(stops(&["</answer>"]), &["Yes", ".</", "ans", "wer> more"]),
    result("Yes.", "", Some("</answer>"))
  );
}

#[test]
fn only_what_may_become_a_stop_is_held() {
  let mut pipeline = TextPipeline::new(stops(&["\nUser:"]));
  assert_eq!(pipeline.push(b"Hello\nUs").text, "Hello");
  assert_eq!(pipeline.push(b"A").text, "\nUsA");
  assert_eq!(pipeline.push(b"\n\nUser").text, "\n");
  assert_eq!(pipeline.push(b":"), result("", "", Some("\nUser:")));
}

#[test]
fn nothing_follows_a_stop() {
  let mut pipeline = TextPipeline::new(thinking(false, &["END"]));
  assert_eq!(pipeline.push(b"a END <think>b"), result("a ", "", Some("END")));
  assert!(!pipeline.in_reasoning());
  assert_eq!(pipeline.push(b"more"), TextDelta::default());
  assert_eq!(pipeline.finish(), TextDelta::default());
}

#[test]
fn a_complete_stop_that_waited_for_a_longer_one_ends_the_output() {
  let mut pipeline = TextPipeline::new(stops(&["\n", "\n\n"]));
  assert_eq!(pipeline.push(b"a\n"), result("a", "", None));
  assert_eq!(pipeline.finish(), result("", "", Some("\n")));
}

#[test]
fn the_beginning_of_a_stop_is_text_when_the_output_ends() {
  assert_eq!(run(stops(&["###"]), &["a #", "#"]), result("a ##", "", None));
}

#[test]
fn empty_stops_are_ignored() {
  assert_eq!(run(stops(&["", "x"]), &["ab", "x"]), result("ab", "", Some("x")));
  assert_eq!(run(stops(&[""]), &["ab"]), result("ab", "", None));
}

#[test]
fn stops_are_text_until_they_are_enabled() {
  let mut pipeline = TextPipeline::new(stops(&["END"]));
  pipeline.set_stops_enabled(false);
  assert_eq!(pipeline.push(b"a END E").text, "a END E");
  pipeline.set_stops_enabled(true);
  assert_eq!(pipeline.push(b"ND").text, "ND", "the stop began while stops were off");
  assert_eq!(pipeline.push(b"END"), result("", "", Some("END")));
}

#[test]
fn switching_stops_off_releases_what_was_held() {
  let mut pipeline = TextPipeline::new(stops(&["\n", "\n\n"]));
  assert_eq!(pipeline.push(b"a\n").text, "a");
  pipeline.set_stops_enabled(false);
  assert_eq!(pipeline.finish(), result("\n", "", None));
}

#[test]
fn reasoning_is_separated_across_token_borders() {
  let tokens = ["<th", "ink>", "\n", "why", " not</", "think", ">\n", "\nBecause."];
  assert_eq!(run(thinking(false, &[]), &tokens), result("Because.", "why not", None));
}

#[test]
fn reasoning_that_the_prompt_opened_needs_no_start_tag() {
  let mut pipeline = TextPipeline::new(thinking(true, &[]));
  assert!(pipeline.in_reasoning());
  assert_eq!(pipeline.push(b"\nhm</thi"), result("", "hm", None));
  assert!(pipeline.in_reasoning());
  assert_eq!(pipeline.push(b"nk>ok"), result("ok", "", None));
  assert!(!pipeline.in_reasoning());
}

#[test]
fn a_block_may_open_again() {
  let tokens = ["<think>a</think>b<think>c</think>d"];
  assert_eq!(run(thinking(false, &[]), &tokens), result("bd", "ac", None));
}

#[test]
fn any_end_tag_closes_and_the_longest_is_removed() {
  let tags = ReasoningTags {
    start: "<t>".into(),
    ends: vec!["</t>".into(), "</t>!".into(), "[/]".into()],
    open: true,
  };
  let options = TextOptions { stops: Vec::new(), reasoning: Some(tags) };
  assert_eq!(run(options.clone(), &["a</t>", "!b"]), result("b", "a", None));
  assert_eq!(run(options.clone(), &["a[", "/]b"]), result("b", "a", None));
  assert_eq!(run(options, &["a</t>"]), result("", "a", None));
}

#[test]
fn an_empty_block_leaves_the_answer_alone() {
  assert_eq!(run(thinking(false, &[]), &["<think>\n\n</think>\n\nHi\n"]), result("Hi\n", "", None));
}

#[test]
fn an_unclosed_block_stays_reasoning_and_its_partial_tag_is_text() {
  assert_eq!(run(thinking(false, &[]), &["x<think>y</th"]), result("x", "y</th", None));
}

#[test]
fn tags_without_their_counterpart_are_text() {
  assert_eq!(run(thinking(false, &[]), &["a</think>b"]), result("a</think>b", "", None));
  let endless = ReasoningTags { start: String::new(), ends: vec![String::new()], open: true };
  let options = TextOptions { stops: Vec::new(), reasoning: Some(endless) };
  assert_eq!(run(options, &["a<think>b"]), result("", "a<think>b", None));
}

#[test]
fn a_stop_within_reasoning_does_not_end_the_output() {
  let tokens = ["<think>a END b</think>c END d"];
  assert_eq!(run(thinking(false, &["END"]), &tokens), result("c ", "a END b", Some("END")));
}

#[test]
fn newlines_after_a_block_are_not_taken_for_a_stop() {
  assert_eq!(run(thinking(true, &["\n\n"]), &["a</think>\n\nb\n\nc"]), result("b", "a", Some("\n\n")));
}

#[test]
fn a_stop_that_reasoning_interrupts_is_still_one() {
  assert_eq!(run(thinking(false, &["STOP"]), &["ST<think>r</think>OP x"]), result("", "r", Some("STOP")));
}

#[test]
fn a_character_that_spans_tokens_stays_whole_in_every_stage() {
  let mut pipeline = TextPipeline::new(thinking(false, &["é!"]));
  let bytes = "é?é!".as_bytes();
  assert_eq!(pipeline.push(&bytes[..1]).text, "");
  assert_eq!(pipeline.push(&bytes[1..2]).text, "");
  assert_eq!(pipeline.push(&bytes[2..4]).text, "é?");
  assert_eq!(pipeline.push(&bytes[4..]), result("", "", Some("é!")));
}
