//! Answers that must end early.

use super::lexicon::{closed, follow, gbnf, parts, schema, start};

#[test]
fn open_strings_and_brackets_are_closed() {
  let source = schema(
    r#"{"type": "object", "properties": {"name": {"type": "string"}, "tags": {"type": "array",
    "items": {"type": "string"}}}, "required": ["name", "tags"], "additionalProperties": false}"#,
  );
  assert_eq!(closed(&source, r#"{"name": "hello"#), r#"", "tags": []}"#);
  assert_eq!(closed(&source, r#"{"name": "hello", "tags": ["a", "b"#), r#""]}"#);
  assert_eq!(closed(&source, r#"{"name": "}]}"#), r#"", "tags": []}"#);
  closed(&source, r#"{"name": "a\"#);
  closed(&source, r#"{"name": "\u00"#);
  closed(&source, "");
}

#[test]
fn objects_with_further_properties_are_closed() {
  let source = schema(
    r#"{"type": "array", "items": {"type": "object", "properties": {"day": {"enum": ["mon", "tue"]}},
    "required": ["day"]}, "minItems": 1, "maxItems": 3}"#,
  );
  for text in [
    r#"[{"day": "tue", "ending_tag": "desuming☍d"#,
    r#"[{"day": "tue", "ending"#,
    r#"[{"day": "mon", "weekday星期一个day (in De"#,
    r#"[{"day": "tue", "e": {"a": [1, tr"#,
    r#"[{"day": "tue", "e": -"#,
    r#"[{"day": "tue", "e": "\ud83e"#,
    r#"[{"day": "tue", "e": 1.5e"#,
  ] {
    closed(&source, text);
  }
  let any = schema(r#"{"type": "object"}"#);
  for text in
    [r#"{"a": "b☍"#, r#"{"a": [[[{"b": "c"#, "{", r#"{"classCity_deforioPipijipleíndaresKesŠdeiaSu"#]
  {
    closed(&any, text);
  }
}

#[test]
fn what_is_required_is_completed_with_values_that_satisfy_the_schema() {
  let source = schema(
    r#"{"type": "object", "properties": {"kind": {"enum": ["alpha", "beta"]}, "n": {"type": "integer",
    "minimum": 10, "maximum": 20}, "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"},
    "day": {"type": "string", "format": "date"}, "pair": {"type": "array", "items": {"type": "boolean"},
    "minItems": 2}, "note": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    "required": ["kind", "n", "code", "day", "pair", "note"], "additionalProperties": false}"#,
  );
  for text in ["", "{", r#"{"kind": "be"#, r#"{"kind": "beta", "n": 1"#] {
    closed(&source, text);
  }
}

#[test]
fn open_tags_are_closed() {
  let source = parts(
    r#"[{"type": "literal", "text": "<a>"}, {"type": "text", "until": "</a>"}, {"type": "literal", "text": "<b>"},
    {"type": "text", "until": "</b>", "filled": true}, {"type": "literal", "text": "<c>"}]"#,
  );
  assert_eq!(closed(&source, "<a>said \"x\" and {y"), "</a><b>}</b><c>");
  for text in ["<a>x</a><b>text <", "<a>x</a><b>text</", "<a>x</a><b>text</b"] {
    assert!(closed(&source, text).ends_with("b><c>") || text.ends_with('b'), "{text}");
  }
}

#[test]
fn grammars_are_closed_by_their_own_literals() {
  let list = gbnf("root ::= \"<ol>\" item+ \"</ol>\"\nitem ::= \"<li>\" [^<]* (root | \"\") \"</li>\"");
  assert_eq!(closed(&list, "<ol><li>one<ol><li>two"), "</li></ol></li></ol>");
  let words = gbnf("root ::= (\"yes\" | \"no\") (\" \" [a-z]+)* \"!\"");
  assert_eq!(closed(&words, "yes hello world"), "!");
  assert!(closed(&words, "yes ").len() <= 4);
}

#[test]
fn a_complete_answer_needs_no_closing_and_a_closing_changes_nothing() {
  let source = schema(r#"{"type": "array", "items": {"type": "integer"}}"#);
  assert_eq!(closed(&source, "[1, 2]"), "");
  let mut constraint = start(&source);
  assert!(follow(&mut *constraint, "[1, 2").unwrap());
  assert_eq!(constraint.closing().unwrap(), b"]");
  assert!(follow(&mut *constraint, "3, 4").unwrap());
  assert_eq!(constraint.closing().unwrap(), b"]");
}

#[test]
fn a_closing_that_is_not_found_in_time_is_none() {
  let deep = gbnf(&format!("root ::= \"x\" {} \"done\"", "[a-z] ".repeat(2_100)));
  let mut constraint = start(&deep);
  assert!(follow(&mut *constraint, "xabc").unwrap());
  assert_eq!(constraint.closing(), None);
}

#[test]
fn a_closing_may_begin_within_a_character() {
  let mut constraint = start(&schema(r#"{"type": "string"}"#));
  assert!(follow(&mut *constraint, "\"a").unwrap());
  for &byte in &"期".as_bytes()[..2] {
    constraint.accept(byte.into()).unwrap();
  }
  let closing = constraint.closing().unwrap();
  let text = [&"\"a期".as_bytes()[..4], &closing].concat();
  assert!(String::from_utf8(text).is_ok_and(|text| text.ends_with('"')), "{closing:?}");
}
