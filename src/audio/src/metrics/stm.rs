//! Segment Time Mark files: what each speaker says, and when.

use super::Turn;
use crate::error::{AudioError, Result};

/// What was said in a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct StmSegment {
  /// Name of the recording.
  pub recording: String,
  /// Who, and when.
  pub turn: Turn,
  /// The words as written; empty if nothing is to be scored.
  pub text: String,
}

/// The segments of a file; comments (`;`) are passed over, labels (`<o,f0,male>`) left out. Fails with `InvalidInput`,
/// naming the line, if one is malformed.
pub fn read_stm(text: &str) -> Result<Vec<StmSegment>> {
  let mut segments = Vec::new();
  for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
    let line = line.trim();
    if line.is_empty() || line.starts_with(';') {
      continue;
    }
    let damaged = || {
      AudioError::invalid(format!(
        "line {} of the STM file: FILE CHANNEL SPEAKER START END TEXT expected",
        index + 1
      ))
    };
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [recording, _, speaker, start, end, words @ ..] = &fields[..] else { return Err(damaged()) };
    let start: f64 = start.parse().map_err(|_| damaged())?;
    let end: f64 = end.parse().map_err(|_| damaged())?;
    if !(start.is_finite() && end.is_finite() && start <= end) {
      return Err(damaged());
    }
    let labelled = words.first().is_some_and(|word| word.starts_with('<') && word.ends_with('>'));
    segments.push(StmSegment {
      recording: (*recording).to_owned(),
      turn: Turn { time: start..end, speaker: (*speaker).to_owned() },
      text: words[usize::from(labelled)..].join(" "),
    });
  }
  Ok(segments)
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn words_are_read_without_label_and_comments() {
    let text = ";; LABEL\nsample 1 anna 6.69 7.12 <o,f0,female> hello   there\nsample 1 bob 7.5 8\n";
    let segments = read_stm(text).expect("both lines are sound");
    assert_eq!(segments[0].text, "hello there");
    assert_eq!((segments[0].turn.time.clone(), segments[1].text.as_str()), (6.69..7.12, ""));
  }

  #[test]
  fn a_damaged_line_is_named() {
    for line in ["a 1 anna 2", "a 1 anna two 3 hi", "a 1 anna 3 2 hi"] {
      let error = read_stm(&format!("\n{line}\n")).expect_err("the line is damaged");
      assert!(error.to_string().contains("line 2"), "{error}");
    }
  }
}
