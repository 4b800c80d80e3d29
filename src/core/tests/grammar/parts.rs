//! Parts that follow one another.

use super::lexicon::{matches, parts, refused};

const REPLY: &str = r#"[
  {"type": "literal", "text": "<response><thought>"},
  {"type": "text", "until": "</thought>", "most": 40},
  {"type": "literal", "text": "<actions>"},
  {"type": "list", "options": ["REPLY", "IGNORE"], "separator": ",", "least": 1, "most": 2},
  {"type": "literal", "text": "</actions><text>"},
  {"type": "text", "until": "</text>", "without": ["</response>", "<text>"], "filled": true},
  {"type": "literal", "text": "</response>"}
]"#;

fn reply(thought: &str, actions: &str, text: &str) -> String {
  format!("<response><thought>{thought}</thought><actions>{actions}</actions><text>{text}</text></response>")
}

#[test]
fn free_text_ends_at_its_tag_and_holds_anything_else() {
  let source = parts(REPLY);
  for text in ["hello", "1 < 2 & <b>bold</b>", "two\nlines </tex", " é🦀 "] {
    assert!(matches(&source, &reply("", "REPLY", text)), "{text}");
  }
  assert!(!matches(&source, &reply("", "REPLY", " \n ")), "a filled text is not blank");
  assert!(!matches(&source, &reply("", "REPLY", "a<text>")), "what must not be in it");
  assert!(!matches(&source, &reply("a < b", "REPLY", "a")), "what ends a text of limited length");
  assert!(!matches(&source, &reply(&"x".repeat(41), "REPLY", "a")), "too long");
  assert!(matches(&source, &reply(&"ü".repeat(40), "REPLY", "a")), "lengths are in characters");
}

#[test]
fn a_list_keeps_to_its_options_and_bounds() {
  let source = parts(REPLY);
  assert!(matches(&source, &reply("", "REPLY,IGNORE", "a")));
  for actions in ["", "REPLY,", "REPLY,REPLY,REPLY", "OTHER"] {
    assert!(!matches(&source, &reply("", actions, "a")), "{actions}");
  }
}

#[test]
fn json_values_stand_between_given_keys() {
  let source = parts(
    r#"[{"type": "literal", "text": "{\"action\":\""}, {"type": "choice", "options": ["go", "stop"]},
    {"type": "literal", "text": "\",\"parameters\":"}, {"type": "json", "schema": {"type": "object"}},
    {"type": "literal", "text": ",\"n\":"}, {"type": "json", "schema": {"type": "number"}},
    {"type": "literal", "text": "}"}]"#,
  );
  assert!(matches(&source, r#"{"action":"go","parameters":{"a": [1, "b"]},"n":-2.5}"#));
  assert!(!matches(&source, r#"{"action":"run","parameters":{},"n":1}"#));
  assert!(!matches(&source, r#"{"action":"go","parameters":[],"n":1}"#));
}

#[test]
fn what_are_no_parts_is_refused() {
  for text in [
    "[]",
    "{}",
    r#"[{"type": "other"}]"#,
    r#"[{"type": "choice", "options": []}]"#,
    r#"[{"type": "text", "until": ""}]"#,
    r#"[{"type": "list", "options": ["a"], "separator": ",", "least": 3, "most": 2}]"#,
    r#"[{"type": "json", "schema": {"type": "bird"}}]"#,
  ] {
    refused(&parts(text));
  }
}
