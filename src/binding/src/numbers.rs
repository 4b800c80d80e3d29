//! JavaScript has one kind of number.

use std::time::Duration;

/// Exact below 2^53, which no count or size here reaches.
#[allow(clippy::cast_precision_loss, reason = "counts and sizes are below 2^53")]
pub(crate) const fn number(value: u64) -> f64 {
  value as f64
}

/// A size as a JavaScript number.
pub(crate) const fn count(value: usize) -> f64 {
  number(value as u64)
}

/// Milliseconds with fractions.
pub(crate) fn milliseconds(time: Duration) -> f64 {
  time.as_secs_f64() * 1e3
}

/// Bytes given as a JavaScript number; negative and NaN become 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
pub(crate) const fn bytes(value: f64) -> u64 {
  value as u64
}
