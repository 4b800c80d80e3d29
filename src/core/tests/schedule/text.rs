//! Stops, characters and reasoning in what a request reports.

use local_inference_core::generate::FinishReason;
use local_inference_core::options::GenerateOptions;
use local_inference_core::text::{ReasoningTags, TextOptions};

use crate::support::fake::Setup;
use crate::support::model::{END, tokens};
use crate::support::sink::Inbox;
use crate::support::solo::{Bench, limit, prompt, reference};

fn stopping(stops: &[&str]) -> GenerateOptions {
  let stops = stops.iter().map(|stop| (*stop).to_owned()).collect();
  GenerateOptions { text: TextOptions { stops, reasoning: None }, ..limit(60) }
}

fn reasoning(open: bool) -> GenerateOptions {
  let tags = ReasoningTags { start: "<t>".to_owned(), ends: vec!["</t>".to_owned()], open };
  GenerateOptions { text: TextOptions { stops: Vec::new(), reasoning: Some(tags) }, ..limit(60) }
}

/// Runs `options` on the output `texts`.
fn run(texts: &[&str], options: GenerateOptions) -> Inbox {
  let mut bench = Bench::new(Setup::default());
  bench.fake.script(&[1], &tokens(texts));
  bench.run(&[1], options)
}

#[test]
fn a_stop_across_tokens_ends_the_text_before_it() {
  let inbox = run(&["a", "ST", "OP", "b"], stopping(&["STOP"]));
  let outcome = inbox.outcome();
  assert_eq!((outcome.text.as_str(), outcome.tokens, outcome.reason), ("a", 3, FinishReason::Stop));
  assert_eq!(outcome.stop.as_deref(), Some("STOP"));
}

#[test]
fn the_beginning_of_a_stop_that_never_comes_is_text() {
  let outcome = run(&["a", "ST", "b", "ST"], stopping(&["STOP"])).outcome();
  assert_eq!((outcome.text.as_str(), outcome.stop), ("aSTbST", None));
}

#[test]
fn a_stop_that_a_longer_one_could_extend_is_decided_by_the_end() {
  let longer = run(&["a", "\n", "\n", "b"], stopping(&["\n", "\n\n"])).outcome();
  assert_eq!((longer.text.as_str(), longer.stop.as_deref()), ("a", Some("\n\n")));
  let limited =
    run(&["a", "\n"], GenerateOptions { max_tokens: Some(2), ..stopping(&["\n", "\n\n"]) }).outcome();
  assert_eq!((limited.text.as_str(), limited.stop.as_deref()), ("a", Some("\n")));
  assert_eq!(limited.reason, FinishReason::Stop);
}

#[test]
fn before_min_tokens_stops_are_text() {
  let options = GenerateOptions { min_tokens: 2, ..stopping(&["STOP"]) };
  let outcome = run(&["STOP", "STOP", "a", "STOP", "b"], options).outcome();
  assert_eq!((outcome.text.as_str(), outcome.tokens), ("STOPSTOPa", 4));
}

#[test]
fn stops_in_any_output_are_found_where_a_search_of_the_whole_text_finds_them() {
  let mut stopped = 0;
  for salt in 0..18 {
    for (stop, min_tokens) in [("b", 0), ("é", 0), ("a\n", 3), ("STOP", 2), ("ba", 5), (" ", 1)] {
      let options = GenerateOptions { min_tokens, ..stopping(&[stop]) };
      let outcome = Bench::new(Setup::default()).run(&prompt(salt, 6), options.clone()).outcome();
      assert_eq!(outcome, reference(256, &prompt(salt, 6), &options), "salt {salt}, stop {stop:?}");
      stopped += usize::from(outcome.stop.is_some());
    }
  }
  assert!(stopped > 30, "only {stopped} outputs stopped");
}

#[test]
fn characters_cut_between_tokens_arrive_whole() {
  let mut bench = Bench::new(Setup::default());
  // The halves of é (6, 7) and of the crab (8, 9).
  bench.fake.script(&[1], &[6, 7, 8, 9, 8, END]);
  let inbox = bench.run(&[1], limit(9));
  assert_eq!(inbox.text(), "é🦀\u{fffd}");
  assert_eq!(inbox.finished().usage.completion_tokens, 6);
}

#[test]
fn reasoning_is_reported_apart_from_the_answer() {
  let inbox = run(&["<t>", "\n", "a", "b", "</", "t>", "\n", "ab"], reasoning(false));
  assert_eq!((inbox.reasoning().as_str(), inbox.text().as_str()), ("ab", "ab"));
}

#[test]
fn tokens_sampled_inside_a_reasoning_block_are_counted() {
  // "\n", "a", "b" and the first half of the closing tag, which was not complete when it came.
  let inbox = run(&["<t>", "\n", "a", "b", "</", "t>", "\n", "ab"], reasoning(false));
  assert_eq!(inbox.finished().usage.reasoning_tokens, 4);
  let open = run(&["a", "b", "</t>", "ab"], reasoning(true));
  assert_eq!((open.reasoning().as_str(), open.finished().usage.reasoning_tokens), ("ab", 2));
  let none = run(&["a", "b"], reasoning(false));
  assert_eq!((none.text().as_str(), none.finished().usage.reasoning_tokens), ("ab", 0));
}

#[test]
fn a_reasoning_block_that_never_closes_is_reasoning_to_the_end() {
  let inbox = run(&["<t>", "a", "</"], reasoning(false));
  assert_eq!((inbox.reasoning().as_str(), inbox.text().as_str()), ("a</", ""));
}

#[test]
fn log_probabilities_come_once_a_token_when_asked_for() {
  let options = GenerateOptions { logprobs: Some(0), ..stopping(&["STOP"]) };
  let chosen: Vec<_> =
    run(&["a", "ST", "b"], options).logprobs().iter().map(|entry| entry.chosen.token).collect();
  assert_eq!(chosen, [&tokens(&["a", "ST", "b"])[..], &[END]].concat());
  assert!(run(&["a"], limit(9)).logprobs().is_empty());
}
