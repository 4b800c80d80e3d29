//! Rich Transcription Time Marked files: who speaks when.

use super::Turn;
use crate::error::{AudioError, Result};

/// A turn and the recording that it is of.
#[derive(Debug, Clone, PartialEq)]
pub struct RttmTurn {
  /// Name of the recording.
  pub recording: String,
  /// The turn.
  pub turn: Turn,
}

/// The `SPEAKER` lines of a file; comments (`;`) and lines of other types are passed over. Fails with `InvalidInput`, naming
/// the line, if one is malformed.
pub fn read_rttm(text: &str) -> Result<Vec<RttmTurn>> {
  let mut turns = Vec::new();
  for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if fields.first() != Some(&"SPEAKER") {
      continue;
    }
    let damaged = || {
      AudioError::invalid(format!(
        "line {} of the RTTM file: SPEAKER FILE CHANNEL START LENGTH ... NAME expected",
        index + 1
      ))
    };
    let [_, recording, _, start, length, _, _, speaker, ..] = fields[..] else { return Err(damaged()) };
    let start: f64 = start.parse().map_err(|_| damaged())?;
    let length: f64 = length.parse().map_err(|_| damaged())?;
    if !(start.is_finite() && length.is_finite() && length >= 0.0) {
      return Err(damaged());
    }
    let turn = Turn { time: start..start + length, speaker: speaker.to_owned() };
    turns.push(RttmTurn { recording: recording.to_owned(), turn });
  }
  Ok(turns)
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn speaker_lines_are_read_and_others_passed_over() {
    let text = ";; a comment\r\nSPKR-INFO a 1 <NA> <NA> <NA> unknown anna <NA>\r\n\
                SPEAKER a 1 6.690 0.430 <NA> <NA> anna <NA> <NA>\n\nSPEAKER b 1 0 2 <NA> <NA> bob <NA>\n";
    let turns = read_rttm(text).expect("both lines are sound");
    assert_eq!((turns.len(), turns[1].recording.as_str()), (2, "b"));
    assert_eq!(turns[0].turn, Turn { time: 6.69..6.69 + 0.43, speaker: "anna".into() });
  }

  #[test]
  fn a_damaged_line_is_named() {
    for line in ["SPEAKER a 1 2", "SPEAKER a 1 x 2 <NA> <NA> anna", "SPEAKER a 1 2 -1 <NA> <NA> anna"] {
      let error = read_rttm(&format!(";;\n{line}\n")).expect_err("the line is damaged");
      assert!(error.to_string().contains("line 2"), "{error}");
    }
  }
}
