//! Diarization error rate: who spoke when (NIST, Rich Transcription 2003; the conventions of pyannote.metrics).

use std::ops::Range;

use super::matching::best_matching;
use crate::error::{AudioError, Result};

/// A speaker's turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
  /// When, in seconds.
  pub time: Range<f64>,
  /// Who, by any name.
  pub speaker: String,
}

/// What is scored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scoring {
  /// Seconds around each boundary of a true turn that are left out, half of them on each side. 0 leaves nothing out.
  pub collar: f64,
  /// Leave out where several speak at once.
  pub skip_overlap: bool,
  /// Stretches that are scored, in seconds; none: from the first to the last turn of either list.
  pub scored: Option<Vec<Range<f64>>>,
}

/// Seconds of each kind of error. Where several speak, each counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DiarizationErrors {
  /// Speech in all, of the true turns.
  pub total: f64,
  /// Speech that was missed.
  pub missed: f64,
  /// Speech that was not there.
  pub false_alarm: f64,
  /// Speech of somebody else.
  pub confusion: f64,
}

impl DiarizationErrors {
  /// Errors as a share of all speech. None if nobody spoke and something was found.
  pub fn rate(&self) -> Option<f64> {
    let errors = self.missed + self.false_alarm + self.confusion;
    if self.total > 0.0 {
      return Some(errors / self.total);
    }
    (errors == 0.0).then_some(0.0)
  }
}

/// Compares `found` with `truth`. Speakers are matched so that the most time agrees. Turns of one speaker that overlap are
/// one. Fails with `InvalidInput` if a time is not finite or a turn ends before it begins.
pub fn diarization_errors(truth: &[Turn], found: &[Turn], scoring: &Scoring) -> Result<DiarizationErrors> {
  let stretches = scoring.scored.iter().flatten();
  for time in truth.iter().chain(found).map(|turn| &turn.time).chain(stretches) {
    if !(time.start.is_finite() && time.end.is_finite() && time.start <= time.end) {
      return Err(AudioError::invalid(format!("no stretch of time: {} to {} s", time.start, time.end)));
    }
  }
  if !(scoring.collar.is_finite() && scoring.collar >= 0.0) {
    return Err(AudioError::invalid(format!("a collar of {} s: give 0 or more", scoring.collar)));
  }
  let (true_names, found_names) = (names(truth), names(found));
  let pieces = pieces(truth, found, scoring);
  let mut together = vec![vec![0.0; found_names.len()]; true_names.len()];
  let spoken: Vec<(f64, Vec<usize>, Vec<usize>)> = pieces
    .iter()
    .map(|piece| {
      let middle = f64::midpoint(piece.start, piece.end);
      (piece.end - piece.start, speaking(truth, &true_names, middle), speaking(found, &found_names, middle))
    })
    .filter(|(_, truth, _)| !(scoring.skip_overlap && truth.len() > 1))
    .collect();
  for (length, truth, found) in &spoken {
    for speaker in truth {
      for other in found {
        together[*speaker][*other] += length;
      }
    }
  }
  let matching = best_matching(&together);
  let mut errors = DiarizationErrors::default();
  for (length, truth, found) in &spoken {
    let right =
      truth.iter().filter(|speaker| matching[**speaker].is_some_and(|own| found.contains(&own))).count();
    errors.total += length * truth.len() as f64;
    errors.missed += length * truth.len().saturating_sub(found.len()) as f64;
    errors.false_alarm += length * found.len().saturating_sub(truth.len()) as f64;
    errors.confusion += length * (truth.len().min(found.len()) - right) as f64;
  }
  Ok(errors)
}

fn names(turns: &[Turn]) -> Vec<&str> {
  let mut names: Vec<&str> = turns.iter().map(|turn| turn.speaker.as_str()).collect();
  names.sort_unstable();
  names.dedup();
  names
}

fn speaking(turns: &[Turn], names: &[&str], time: f64) -> Vec<usize> {
  let spoken = |name: &&str| turns.iter().any(|turn| turn.speaker == **name && turn.time.contains(&time));
  (0..names.len()).filter(|index| spoken(&names[*index])).collect()
}

/// Stretches that are scored and in which nobody begins or ends.
fn pieces(truth: &[Turn], found: &[Turn], scoring: &Scoring) -> Vec<Range<f64>> {
  let half = scoring.collar / 2.0;
  let all = || truth.iter().chain(found).map(|turn| &turn.time);
  let first = all().map(|time| time.start).fold(f64::INFINITY, f64::min);
  let last = all().map(|time| time.end).fold(f64::NEG_INFINITY, f64::max);
  let scored = scoring.scored.clone().unwrap_or_else(|| vec![first..last]);
  let edges = truth.iter().flat_map(|turn| [turn.time.start, turn.time.end]);
  let collars: Vec<Range<f64>> = edges.map(|edge| edge - half..edge + half).collect();
  let mut times: Vec<f64> =
    all().chain(&scored).chain(&collars).flat_map(|time| [time.start, time.end]).collect();
  times.sort_by(f64::total_cmp);
  times.dedup();
  times
    .windows(2)
    .map(|pair| pair[0]..pair[1])
    .filter(|piece| {
      let middle = f64::midpoint(piece.start, piece.end);
      scored.iter().any(|time| time.contains(&middle)) && !collars.iter().any(|time| time.contains(&middle))
    })
    .collect()
}
