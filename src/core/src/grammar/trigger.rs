//! Where a lazy constraint begins in an answer that is still free.

use regex::Regex;

use super::constraint::Trigger;
use super::error::invalid;
use crate::error::Result;

/// Characters that are kept to look for a pattern in; llama.cpp's patterns look at the beginning of an answer or at a
/// marker.
const WINDOW: usize = 16 << 10;

/// Triggers, looked for in an answer as it grows.
pub(super) struct Search {
  texts: Vec<String>,
  patterns: Vec<Regex>,
  seen: String,
}

impl Search {
  pub(super) fn new(triggers: &[Trigger]) -> Result<Self> {
    let (mut texts, mut patterns) = (Vec::new(), Vec::new());
    for trigger in triggers {
      match trigger {
        Trigger::Text(text) if text.is_empty() => return Err(invalid("a trigger is empty")),
        Trigger::Text(text) => texts.push(text.clone()),
        Trigger::Pattern(pattern) => {
          patterns.push(regex::RegexBuilder::new(pattern).size_limit(1 << 20).build().map_err(invalid)?);
        }
      }
    }
    Ok(Self { texts, patterns, seen: String::new() })
  }

  /// Adds `text` to what was seen; returns what follows the beginning of the first trigger.
  pub(super) fn push(&mut self, text: &str) -> Option<String> {
    let from = self.texts.iter().map(String::len).max().unwrap_or(0);
    let mut start = self.seen.len().saturating_sub(from);
    while !self.seen.is_char_boundary(start) {
      start -= 1;
    }
    self.seen.push_str(text);
    let by_text =
      self.texts.iter().filter_map(|text| self.seen[start..].find(text.as_str())).map(|at| at + start);
    let by_pattern = self.patterns.iter().filter_map(|pattern| {
      let captures = pattern.captures(&self.seen)?;
      captures.get(1).or_else(|| captures.get(0)).map(|found| found.start())
    });
    let found = by_text.chain(by_pattern).min().map(|at| self.seen[at..].to_owned());
    if self.seen.len() > 2 * WINDOW {
      let mut cut = self.seen.len() - WINDOW;
      while !self.seen.is_char_boundary(cut) {
        cut += 1;
      }
      self.seen.drain(..cut);
    }
    found
  }
}
