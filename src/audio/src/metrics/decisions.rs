//! Errors of yes-or-no decisions by a score.

use crate::error::{AudioError, Result};

/// The rate at which as many of `genuine` are refused as of `others` are accepted, 0 to 1, with straight lines between the
/// points that the scores allow. Higher scores are accepted. Fails with `InvalidInput` if a list is empty or a score is not
/// finite.
pub fn equal_error_rate(genuine: &[f64], others: &[f64]) -> Result<f64> {
  if genuine.is_empty() || others.is_empty() {
    return Err(AudioError::invalid("an equal error rate needs scores of both kinds"));
  }
  if !genuine.iter().chain(others).all(|score| score.is_finite()) {
    return Err(AudioError::invalid("an equal error rate needs finite scores"));
  }
  let mut scores: Vec<(f64, bool)> = genuine.iter().map(|score| (*score + 0.0, true)).collect();
  scores.extend(others.iter().map(|score| (*score + 0.0, false)));
  scores.sort_by(|a, b| b.0.total_cmp(&a.0));
  let mut before = (0.0, 1.0);
  let (mut accepted, mut refused) = (0.0, 1.0);
  for group in scores.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
    let right = group.iter().filter(|score| score.1).count();
    refused -= right as f64 / genuine.len() as f64;
    accepted += (group.len() - right) as f64 / others.len() as f64;
    if accepted >= refused {
      // On the line from the last point to this one, where both are equal.
      let (gap, next) = (before.1 - before.0, accepted - refused);
      let share = if gap + next > 0.0 { gap / (gap + next) } else { 1.0 };
      return Ok(before.0 + share * (accepted - before.0));
    }
    before = (accepted, refused);
  }
  Ok(before.0)
}
