//! Sources made to cost time or memory: each ends in a typed error or in a grammar that steps in bounded time.

use std::fmt::Write as _;

use local_inference_core::error::ErrorCode;
use local_inference_core::grammar::ConstraintSource;

use super::lexicon::{engine, gbnf, parts, refused, schema, tokens};

/// Compiles, then follows some tokens; whatever fails must fail as an invalid grammar.
fn survives(source: &ConstraintSource) {
  let outcome = (|| {
    let mut constraint = engine().start(source, &[])?;
    for token in tokens("aaaa{\"a\": [1, 2, {\"b\": 3".as_bytes()) {
      if constraint.allows(token)? {
        constraint.accept(token)?;
      }
      constraint.mask()?;
    }
    constraint.closing();
    Ok(())
  })();
  if let Err(error) = outcome {
    let error: local_inference_core::error::EngineError = error;
    assert_eq!(error.code(), ErrorCode::GrammarInvalid, "{error}");
  }
}

#[test]
fn ambiguous_grammars_stay_bounded() {
  survives(&gbnf(&format!("root ::= {} \"b\"", "\"a\"? ".repeat(100))));
  survives(&gbnf(&format!("root ::= {} \"b\" root?", "\"a\"? ".repeat(100))));
  survives(&gbnf("root ::= \"a\" root root | \"a\" root | \"a\""));
  survives(&gbnf("root ::= ((([a-z]*)*)*)* \"!\""));
  survives(&gbnf("root ::= (.* \"a\" .{200})* \"!\""));
}

#[test]
fn repetitions_of_repetitions_are_refused_or_bounded() {
  for text in [
    "root ::= (((\"a\"{1000}){1000}){1000})",
    "root ::= ((\"a\"{1000}){1000})* root",
    "root ::= a{2000}\na ::= b{2000}\nb ::= \"a\"",
  ] {
    assert!(refused(&gbnf(text)).contains("repetitions"), "{text}");
  }
  survives(&schema(r#"{"type": "array", "items": {"minLength": 100000}, "minItems": 100000000}"#));
  survives(&schema(r#"{"type": "string", "pattern": "^(((a{10}){10}){10}|b)*$"}"#));
  survives(&schema(r#"{"type": "string", "pattern": "^(a|b|ab)*c(a|b)*d.{900}[xy].{900}$"}"#));
}

#[test]
fn deep_and_long_sources_do_not_end_the_process() {
  for depth in [90, 100_000] {
    survives(&gbnf(&format!("root ::= {}\"a\"{}", "(".repeat(depth), ")".repeat(depth))));
  }
  for count in [4_000, 60_000] {
    let mut links: Vec<_> = (0..count).map(|index| format!("r{index} ::= \"a\" r{}", index + 1)).collect();
    links.push(format!("r{count} ::= \"b\""));
    let down = format!("root ::= r0\n{}", links.join("\n"));
    links.reverse();
    let up = format!("{}\nroot ::= r0", links.join("\n"));
    for chain in [down, up] {
      survives(&gbnf(&chain));
      // The same with a way back: no longer one regular expression.
      survives(&gbnf(&chain.replace("\"b\"", "\"b\" root?")));
    }
  }
  let mut nested = String::from(r#"{"type": "string"}"#);
  for _ in 0..60 {
    nested = format!(r#"{{"type": "array", "items": {nested}}}"#);
  }
  survives(&schema(&nested));
  survives(&schema(&format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000))));
}

#[test]
fn schemas_that_multiply_stay_bounded() {
  let choice = r#"{"anyOf": [{"minLength": 1}, {"maxLength": 9}, {"pattern": "a"}]}"#;
  survives(&schema(&format!(r#"{{"type": "string", "allOf": [{}]}}"#, vec![choice; 14].join(", "))));
  survives(&schema(r##"{"$ref": "#"}"##));
  survives(&schema(r##"{"allOf": [{"$ref": "#"}, {"$ref": "#"}]}"##));
  survives(&schema(
    r##"{"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}"##,
  ));
  let mut doubling = String::from(r#"{"$ref": "r#/$defs/d0", "$defs": {"#).replace("r#", "#");
  for index in 0..40 {
    let next = index + 1;
    let _ = write!(
      doubling,
      r##""d{index}": {{"type": "object", "properties": {{"a": {{"$ref": "#/$defs/d{next}"}}, "b": {{"$ref": "#/$defs/d{next}"}}}}, "required": ["a", "b"]}}, "##
    );
  }
  doubling.push_str(r#""d40": {"type": "null"}}}"#);
  survives(&schema(&doubling));
}

#[test]
fn parts_stay_bounded() {
  let without = vec!["\"aaaaaaaaab\""; 100].join(", ");
  survives(&parts(&format!(r#"[{{"type": "text", "until": "z", "without": [{without}], "most": 5000}}]"#)));
}
