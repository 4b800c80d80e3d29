//! A constraint made of parts that follow one another: markup with free text between its tags, objects whose keys are
//! given and whose values are the model's.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

use super::error::invalid;
use super::schema;
use super::translate::quoted;
use crate::error::Result;

/// Most parts.
const MAX_PARTS: usize = 1_000;

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
enum Part {
  /// This text.
  Literal { text: String },
  /// One of these texts.
  Choice { options: Vec<String> },
  /// Some of these texts, `least` to `most` of them.
  List { options: Vec<String>, separator: String, least: u32, most: u32 },
  /// Any text up to and including `until`, with none of `without` in it. With `filled` it says something: not only
  /// blanks. With `most` it is at most that many characters long, and none of them is the one that `until` begins with.
  Text {
    until: String,
    #[serde(default)]
    without: Vec<String>,
    #[serde(default)]
    filled: bool,
    most: Option<u32>,
  },
  /// A JSON value that satisfies the schema.
  Json { schema: Value },
}

/// The parts in Lark notation, and texts that end one of them.
pub(super) fn to_lark(source: &str) -> Result<(String, Vec<String>)> {
  let parts: Vec<Part> = serde_json::from_str(source).map_err(invalid)?;
  if parts.is_empty() || parts.len() > MAX_PARTS {
    return Err(invalid(format!("it must have 1 to {MAX_PARTS} parts")));
  }
  let (mut start, mut rules, mut endings) = (String::from("start:"), String::new(), Vec::new());
  for (number, part) in parts.iter().enumerate() {
    match part {
      Part::Literal { text } if text.is_empty() => {}
      Part::Literal { text } => {
        let _ = write!(start, " {}", quoted(text));
      }
      Part::Choice { options } => {
        let _ = write!(start, " ({})", choice(options)?);
      }
      Part::List { options, separator, least, most } => list(&mut start, options, separator, *least, *most)?,
      Part::Text { until, without, filled, most } => {
        if until.is_empty() {
          return Err(invalid("a text needs an end"));
        }
        let _ = write!(start, " T{number}");
        let _ = writeln!(rules, "T{number}: {}", text(until, without, *filled, *most));
        endings.push(until.clone());
      }
      Part::Json { schema } => {
        let _ = write!(start, " j{number}");
        let _ = writeln!(rules, "j{number}: %json {}", schema::prepared(schema, false)?);
      }
    }
  }
  Ok((format!("{start}\n{rules}"), endings))
}

fn choice(options: &[String]) -> Result<String> {
  if options.iter().all(String::is_empty) {
    return Err(invalid("a choice needs something to choose from"));
  }
  Ok(options.iter().map(|option| quoted(option)).collect::<Vec<_>>().join(" | "))
}

fn list(out: &mut String, options: &[String], separator: &str, least: u32, most: u32) -> Result<()> {
  if most == 0 || most > 1_000 || least > most {
    return Err(invalid("a list needs bounds in order, up to 1000"));
  }
  let one = choice(options)?;
  let more = format!("({} ({one})){{{},{}}}", quoted(separator), least.saturating_sub(1), most - 1);
  let _ = if least == 0 { write!(out, " (({one}) {more})?") } else { write!(out, " ({one}) {more}") };
  Ok(())
}

/// One lexeme: a text that is ended by the first `until`, so that it ends in one place only.
fn text(until: &str, without: &[String], filled: bool, most: Option<u32>) -> String {
  let end = quoted(until);
  let filled = if filled { format!(" & (/(?s:\\s*\\S.*)/ {end})") } else { String::new() };
  let first = until.chars().next().map_or(0, u32::from);
  if let Some(most) = most {
    // Counting and looking for texts at once would take a state for each pair.
    return format!("(/[^\\x{{{first:X}}}]{{0,{most}}}/ {end}){filled}");
  }
  let mut out = format!("(/(?s:.*)/ {end}) & ~(/(?s:.*)/ {end} /(?s:.+)/){filled}");
  for text in without.iter().filter(|text| !text.is_empty()) {
    let _ = write!(out, " & ~(/(?s:.*)/ {} /(?s:.*)/)", quoted(text));
  }
  out
}
