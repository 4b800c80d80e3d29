//! llama.cpp's notation.

use super::lexicon::{CALL, END, engine, follow, gbnf, matches, refused, start, tokens};

const JSON: &str = r#"
root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
"#;

#[test]
fn a_recursive_grammar_admits_what_it_describes() {
  let json = gbnf(JSON);
  for text in ["{}", "{\"name\": [1, -2.5e3, {\"é\": \"\\u00e9 \\\" 🦀\"}], \"b\":true}", "{\"a\":\n\t\"\"}"]
  {
    assert!(matches(&json, text), "{text}");
  }
  for text in ["[]", "{\"a\": 01}", "{\"a\": \"\n\"}", "{\"a\" \"b\"}", "{", "{\"a\": nul}"] {
    assert!(!matches(&json, text), "{text}");
  }
}

#[test]
fn a_grammar_without_recursion_is_one_expression_and_admits_the_same() {
  let date =
    gbnf("root ::= year \"-\" md{2} tail?\nyear ::= [0-9]{4}\nmd ::= [0-9] [0-9] \"-\"?\ntail ::= \"T\" .+");
  for text in ["2024-01-02", "2024-0102", "2024-01-02-T12ü"] {
    assert!(matches(&date, text), "{text}");
  }
  for text in ["2024-01", "024-01-02", "2024-01-02T"] {
    assert!(!matches(&date, text), "{text}");
  }
}

#[test]
fn an_empty_answer_matches_where_the_grammar_says_so() {
  assert!(matches(&gbnf("root ::= \"a\"*"), ""));
  assert!(matches(&gbnf("root ::= \"a\"*"), "aaa"));
  assert!(matches(&gbnf("root ::= \"\" | \"(\" root \")\""), "(())"));
  assert!(!matches(&gbnf("root ::= \"a\"+"), ""));
}

#[test]
fn greedy_parts_do_not_swallow_what_must_follow() {
  assert!(matches(&gbnf("root ::= [a-z]* \"z\""), "abczz"));
  assert!(matches(&gbnf("root ::= [a-z]* \"z\" rest\nrest ::= \"\" | \".\" rest"), "abczz.."));
  assert!(matches(&gbnf("root ::= (\"ab\" | \"abc\") \"cd\" root?"), "abcdabccd"));
}

#[test]
fn what_is_determined_is_told_and_the_rest_is_not() {
  let mut constraint = start(&gbnf("root ::= \"hello world \" [ab] \" bye\""));
  let forced = constraint.forced();
  assert!(!forced.is_empty());
  for &token in &forced {
    assert!(constraint.allows(token).unwrap());
    constraint.accept(token).unwrap();
  }
  assert!(tokens(b"hello world ").starts_with(&forced));
  for token in tokens(b"hello world ").into_iter().skip(forced.len()) {
    constraint.accept(token).unwrap();
  }
  assert!(constraint.forced().is_empty());
  assert!(follow(&mut *constraint, "b bye").unwrap());
  assert!(constraint.is_complete() && constraint.can_end());
}

#[test]
fn a_mask_admits_exactly_what_is_allowed() {
  let mut constraint = start(&gbnf(JSON));
  assert!(follow(&mut *constraint, "{\"a\": [1").unwrap());
  let mask = constraint.mask().unwrap();
  for token in 0..=END {
    let allowed = if token == END { constraint.can_end() } else { constraint.allows(token).unwrap() };
    assert_eq!(mask.allows(token), allowed, "token {token}");
  }
}

#[test]
fn tokens_can_be_named_by_number_and_by_text() {
  for text in ["root ::= <call> \"x\"", &format!("root ::= <[{CALL}]> \"x\"")] {
    let mut constraint = start(&gbnf(text));
    assert!(!constraint.allows(tokens(b"<")[0]).unwrap());
    constraint.accept(CALL).unwrap();
    assert!(follow(&mut *constraint, "x").unwrap() && constraint.is_complete());
  }
  assert!(refused(&gbnf("root ::= <missing>")).contains("<missing>"));
}

#[test]
fn a_literal_that_spells_a_preserved_control_token_means_the_token() {
  let specials = [("<call>".to_owned(), CALL)];
  let mut constraint = engine().start(&gbnf("root ::= \"a<call>b\""), &specials).unwrap();
  assert!(follow(&mut *constraint, "a").unwrap());
  assert!(constraint.allows(CALL).unwrap() && !constraint.allows(tokens(b"<")[0]).unwrap());
  constraint.accept(CALL).unwrap();
  assert!(follow(&mut *constraint, "b").unwrap() && constraint.is_complete());

  let mut resumed = engine().start(&gbnf("root ::= \"a<call>b\""), &specials).unwrap();
  resumed.accept_text("a<call>").unwrap();
  assert!(follow(&mut *resumed, "b").unwrap());
}

#[test]
fn left_recursion_is_refused_and_named() {
  for text in [
    "root ::= root \"a\"",
    "root ::= a\na ::= b\nb ::= a \"x\"",
    "root ::= empty root \"x\" | \"y\"\nempty ::= \"\"",
    "root ::= (root)",
  ] {
    assert!(refused(&gbnf(text)).contains("left recursion"), "{text}");
  }
}
