//! What the notation means, and what it refuses.

use super::*;
use crate::error::ErrorCode;

fn refused(source: &str) -> String {
  let error = parse(source).unwrap_err();
  assert_eq!(error.code(), ErrorCode::GrammarInvalid);
  error.to_string()
}

#[test]
fn rules_may_span_lines_inside_groups_and_after_bars() {
  let grammar = parse("root ::= (\n \"a\" # one\n | b\n) |\n c\nb ::= [x-z]+\nc ::= .{2,3}").unwrap();
  assert_eq!(grammar.rules.len(), 3);
  assert_eq!(grammar.rules[grammar.root].len(), 2);
}

#[test]
fn escapes_name_characters() {
  let grammar = parse(r#"root ::= "\x41\u00e9\U0001F980\n\"" [\]\-\\]"#).unwrap();
  let first = &grammar.rules[grammar.root][0];
  assert_eq!(first[0].item, Item::Literal("Aé🦀\n\"".to_owned()));
  let ranges = vec![(']', ']'), ('-', '-'), ('\\', '\\')];
  assert_eq!(first[1].item, Item::Class { negated: false, ranges });
}

#[test]
fn a_repeated_repetition_nests() {
  let grammar = parse("root ::= \"a\"?{2}").unwrap();
  assert!(matches!(grammar.rules[0][0][0], Element { item: Item::Group(_), least: 2, most: Some(2) }));
}

#[test]
fn what_is_not_a_grammar_is_refused_with_its_line() {
  for (source, part) in [
    ("root ::= \"unclosed", "line 1"),
    ("root ::= missing", "missing"),
    ("\n\nno rule", "line 3"),
    ("other ::= \"x\"", "root"),
    ("root ::= [a-", "line 1"),
    ("root ::= (\"a\"", ")"),
    ("root ::= \"a\"{99999}", "2000"),
    ("root ::= *", "repeat"),
    ("root ::= [z-a]", "empty"),
    ("root ::= \"\\q\"", "escape"),
    ("root ::= \"a\" )", "end of the line"),
  ] {
    assert!(refused(source).contains(part), "{source}: {}", refused(source));
  }
  assert!(refused(&format!("root ::= {}", "(".repeat(100_000))).contains("nest"));
}
