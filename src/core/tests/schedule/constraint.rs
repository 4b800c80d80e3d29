//! Constrained requests: the fake's model wishes anything, the answer matches all the same.

use local_inference_core::generate::FinishReason;
use local_inference_core::grammar::{ConstraintOptions, ConstraintSource, Span, Trigger};
use local_inference_core::options::GenerateOptions;
use local_inference_core::text::{ReasoningTags, TextOptions};

use crate::support::fake::Setup;
use crate::support::model::{END, tokens};
use crate::support::solo::{Bench, limit, prompt, solo};

fn grammar(text: &str, max_tokens: u32) -> GenerateOptions {
  let source = ConstraintSource::Gbnf(text.to_owned());
  GenerateOptions { constraint: Some(ConstraintOptions::new(source)), ..limit(max_tokens) }
}

fn scripted(
  output: &[&str],
  options: GenerateOptions,
) -> (String, FinishReason, local_inference_core::stats::Usage) {
  let mut bench = Bench::new(Setup::default());
  let mut script = tokens(output);
  script.push(END);
  bench.fake.script(&prompt(1, 4), &script);
  let inbox = bench.run(&prompt(1, 4), options);
  let finished = inbox.finished();
  assert_eq!(finished.usage.completion_tokens, inbox.tokens());
  (inbox.text(), finished.reason, finished.usage)
}

#[test]
fn whatever_the_model_wishes_the_answer_matches() {
  for salt in 0..30 {
    let mut bench = Bench::new(Setup { parallel: 2, ..Setup::default() });
    let options = grammar("root ::= \"ab\" (\" \" | \"a\" | \"b\")* \"STOP\"", 40);
    let both = [bench.submit(&prompt(salt, 5), options.clone()), bench.submit(&prompt(salt + 1, 5), options)];
    bench.drain();
    for ticket in both {
      let text = ticket.inbox.text();
      let body = text.strip_prefix("ab").and_then(|rest| rest.strip_suffix("STOP"));
      assert!(body.is_some_and(|body| body.chars().all(|c| " ab".contains(c))), "{text:?}");
    }
  }
}

#[test]
fn a_choice_that_matches_is_left_alone() {
  let (text, reason, usage) = scripted(&["a", "b", "ab", " "], grammar("root ::= [ab ]*", 40));
  assert_eq!((text.as_str(), reason), ("abab ", FinishReason::Stop));
  assert_eq!((usage.refused_tokens, usage.forced_tokens), (0, 0));
}

#[test]
fn what_is_determined_is_not_sampled_and_counts_as_forced() {
  let (text, reason, usage) = scripted(&["a", "b"], grammar("root ::= [ab] \"STOP\" \" \" \"STOP\"", 40));
  assert_eq!((text.as_str(), reason), ("aSTOP STOP", FinishReason::Stop));
  assert_eq!((usage.completion_tokens, usage.forced_tokens), (4, 3));
}

#[test]
fn what_is_determined_from_the_start_is_evaluated_with_the_prompt() {
  let mut bench = Bench::new(Setup::default());
  let inbox = bench.run(&prompt(1, 4), grammar("root ::= \"<t>\" \" \" \"STOP\" [ab]", 40));
  assert!(inbox.text().starts_with("<t> STOP"), "{}", inbox.text());
  let first = bench.fake.with(|state| state.batches[0].len());
  assert_eq!((first, inbox.finished().usage.prompt_tokens), (7, 4));
  assert_eq!(inbox.finished().usage.completion_tokens, inbox.tokens());
}

#[test]
fn a_complete_answer_ends_without_another_token() {
  let options = GenerateOptions { min_tokens: 20, ignore_eos: true, ..grammar("root ::= \"a\" | \"b\"", 40) };
  let (text, reason, usage) = scripted(&["b", "b", "b"], options);
  assert_eq!((text.as_str(), reason, usage.completion_tokens), ("b", FinishReason::Stop, 1));
}

#[test]
fn a_model_that_wants_to_end_ends_the_part_it_is_in() {
  let (text, reason, usage) =
    scripted(&["<t>", "a", "b"], grammar("root ::= \"<t>\" [ab ]* \"</t>\" \"STOP\"", 60));
  assert_eq!((text.as_str(), reason), ("<t>ab</t>STOP", FinishReason::Stop));
  assert_eq!(usage.refused_tokens, 1);
}

#[test]
fn a_limit_completes_what_is_open_and_says_length() {
  for max_tokens in 4..24 {
    let options = grammar("root ::= \"<t>\" [ab]* \"</t>\"", max_tokens);
    let wish = vec!["a"; 60];
    let (text, reason, usage) = scripted(&wish, options);
    assert!(text.starts_with("<t>") && text.ends_with("</t>"), "{max_tokens}: {text}");
    assert_eq!(reason, FinishReason::Length);
    assert!(usage.completion_tokens <= max_tokens as usize, "{max_tokens}: {}", usage.completion_tokens);
  }
}

#[test]
fn a_full_context_completes_what_is_open() {
  let mut bench = Bench::new(Setup { context: 32, ..Setup::default() });
  bench.fake.script(&prompt(1, 4), &vec![tokens(&["a"])[0]; 60]);
  let options = GenerateOptions { max_tokens: None, ..grammar("root ::= \"<t>\" [ab]* \"</t>\"", 1) };
  let inbox = bench.run(&prompt(1, 4), options);
  assert!(inbox.text().ends_with("</t>"), "{}", inbox.text());
  assert_eq!(inbox.finished().reason, FinishReason::Context);
}

#[test]
fn a_stop_string_does_not_cut_what_would_then_not_match() {
  let mut options = grammar("root ::= \"<t>\" [ab]* \"</t>\" \" \"*", 40);
  options.text = TextOptions { stops: vec!["ab".to_owned(), " ".to_owned()], reasoning: None };
  let (text, reason, _) = scripted(&["<t>", "ab", "</t>", " ", " "], options);
  assert_eq!((text.as_str(), reason), ("<t>ab</t>", FinishReason::Stop));
}

#[test]
fn a_stop_string_does_not_take_from_the_answer_what_it_needs() {
  for (source, stops, wish, expected) in [
    ("root ::= \"<t>\" [ab]* \"</t>\"", vec!["</t>", "t>"], vec!["<t>", "a", "</t>"], "<t>a</t>"),
    ("root ::= [ab]+ \"STOP\"", vec!["STOP", "OP", "P"], vec!["a", "ST", "OP"], "aSTOP"),
    // Where the rest need not follow, a stop ends the answer, within a token and across them, too.
    ("root ::= [ab ]*", vec!["b "], vec!["a", "ab", " ", "a"], "aa"),
    ("root ::= \"a\" (\"b\" \" \")*", vec![" b"], vec!["a", "b", " ", "b", " "], "ab b "),
    // One stop begins within another that may not stop here.
    ("root ::= \"<t>\" [ab]*", vec!["<t>a", "a"], vec!["<t>", "a", "b"], "<t>"),
  ] {
    let mut options = grammar(source, 12);
    let stops = stops.into_iter().map(str::to_owned).collect();
    options.text = TextOptions { stops, reasoning: None };
    let (text, reason, _) = scripted(&wish, options);
    assert_eq!((text.as_str(), reason), (expected, FinishReason::Stop), "{source}");
  }
}

#[test]
fn reasoning_is_free_and_the_answer_after_it_matches() {
  for open in [true, false] {
    let mut options = grammar("root ::= \"STOP\"", 100);
    let tags = ReasoningTags { start: "<t>".to_owned(), ends: vec!["</t>".to_owned()], open };
    options.text = TextOptions { stops: Vec::new(), reasoning: Some(tags) };
    let wish = [if open { &[][..] } else { &["<t>"][..] }, &["a", " ", "b", "</t>", "\n", "a", "a"]].concat();
    let mut bench = Bench::new(Setup::default());
    bench.fake.script(&prompt(1, 4), &tokens(&wish));
    let inbox = bench.run(&prompt(1, 4), options);
    assert_eq!((inbox.reasoning().as_str(), inbox.text().as_str()), ("a b", "STOP"), "open: {open}");
  }
}

#[test]
fn a_model_that_ends_while_it_reasons_still_answers() {
  for logprobs in [None, Some(0)] {
    let mut options = GenerateOptions { logprobs, ..grammar("root ::= [ab] \"STOP\"", 100) };
    let tags = ReasoningTags { start: "<t>".to_owned(), ends: vec!["</t>".to_owned()], open: true };
    options.text = TextOptions { stops: Vec::new(), reasoning: Some(tags) };
    let (text, reason, usage) = scripted(&["a", "b"], options);
    assert!(["aSTOP", "bSTOP"].contains(&text.as_str()), "{text}");
    assert_eq!((reason, usage.reasoning_tokens), (FinishReason::Stop, 2));
  }
}

#[test]
fn endless_reasoning_leaves_room_for_the_answer() {
  let mut options = grammar("root ::= \"STOP\" \"a\"+ \"b\"", 40);
  let tags = ReasoningTags { start: "<t>".to_owned(), ends: vec!["</t>".to_owned()], open: true };
  options.text = TextOptions { stops: Vec::new(), reasoning: Some(tags) };
  let (text, reason, _) = scripted(&["a"; 60], options);
  assert!(text.starts_with("STOPa") && text.ends_with('b'), "{text}");
  assert_eq!(reason, FinishReason::Length);
}

#[test]
fn a_lazy_constraint_begins_at_its_trigger() {
  let mut options = grammar("root ::= \"<t>\" \"a\" \"</t>\"", 60);
  options.constraint.as_mut().unwrap().triggers = vec![Trigger::Text("<t>".to_owned())];
  let (text, reason, usage) = scripted(&["b", " ", "<t>", "b", "b", "b"], options.clone());
  assert_eq!((text.as_str(), reason), ("b <t>a</t>", FinishReason::Stop));
  assert!(usage.refused_tokens + usage.forced_tokens > 0);
  let (free, reason, _) = scripted(&["b", " ", "b"], options.clone());
  assert_eq!((free.as_str(), reason), ("b b", FinishReason::Stop));

  options.constraint.as_mut().unwrap().triggers = vec![Trigger::Pattern("b (<t>)".to_owned())];
  let (text, _, _) = scripted(&["b", " ", "<t>", "b", "b"], options);
  assert_eq!(text, "b <t>a</t>");
}

#[test]
fn with_log_probabilities_every_token_is_sampled() {
  let options = GenerateOptions { logprobs: Some(0), ..grammar("root ::= \"STOP\" \" \" \"STOP\"", 40) };
  let mut bench = Bench::new(Setup::default());
  let inbox = bench.run(&prompt(1, 4), options);
  assert_eq!(inbox.text(), "STOP STOP");
  assert_eq!(inbox.logprobs().len(), inbox.tokens());
}

#[test]
fn a_greedy_span_takes_the_likeliest_and_the_others_what_is_sampled() {
  for prefix in [None, Some("<t>")] {
    let mut options = grammar("root ::= \"<t>\" [ab] [ab] \" \" [ab] [ab] \"STOP\"", 40);
    let constraint = options.constraint.as_mut().unwrap();
    constraint.prefix = prefix.map(str::to_owned);
    let literal = |text: &str| Span::Literal(text.to_owned());
    constraint.spans =
      vec![literal("<t>"), Span::Value { greedy: true }, literal(" "), Span::Value { greedy: false }];
    // The fake finds "b" likeliest.
    let (text, _, usage) = scripted(&["a"; 8], options);
    assert_eq!(text, format!("{}bb aaSTOP", if prefix.is_some() { "" } else { "<t>" }));
    assert_eq!(usage.refused_tokens, 0);
  }
}

#[test]
fn a_constrained_request_depends_on_itself_alone() {
  let setup = Setup { parallel: 3, ..Setup::default() };
  let options = |salt: i32| match salt % 3 {
    0 => grammar("root ::= [ab ]* \"STOP\"", 30),
    1 => grammar("root ::= \"STOP\" [ab]+ \"<t>\" [ab]* \"</t>\"", 30),
    _ => limit(20),
  };
  let mut bench = Bench::new(setup);
  let tickets: Vec<_> = (0..9).map(|salt| bench.submit(&prompt(salt, 6), options(salt))).collect();
  bench.drain();
  for (salt, ticket) in (0..).zip(tickets) {
    assert_eq!(ticket.inbox.outcome(), solo(setup, &prompt(salt, 6), options(salt)), "request {salt}");
  }
}
