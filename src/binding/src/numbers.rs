//! JavaScript has one kind of number.

use std::time::Duration;

use local_inference_core::error::{EngineError, ErrorCode, Result};

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

/// A whole number that is not negative. Node's own conversion would wrap what does not fit and cut fractions off.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
pub(crate) fn whole(name: &str, value: Option<f64>) -> Result<Option<u32>> {
  let checked = check(name, value, 0.0, f64::from(u32::MAX))?;
  Ok(checked.map(|number| number as u32))
}

/// A whole number that may be negative.
#[allow(clippy::cast_possible_truncation, reason = "the range is checked first")]
pub(crate) fn signed(name: &str, value: Option<f64>, default: i32) -> Result<i32> {
  let checked = check(name, value, f64::from(i32::MIN), f64::from(i32::MAX))?;
  Ok(checked.map_or(default, |number| number as i32))
}

/// A size in bytes.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
pub(crate) fn bytes(name: &str, value: Option<f64>) -> Result<Option<u64>> {
  const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;
  Ok(check(name, value, 0.0, MAX_SAFE_INTEGER)?.map(|number| number as u64))
}

/// A time in whole milliseconds.
pub(crate) fn duration(name: &str, value: Option<f64>) -> Result<Option<Duration>> {
  Ok(bytes(name, value)?.map(Duration::from_millis))
}

fn check(name: &str, value: Option<f64>, low: f64, high: f64) -> Result<Option<f64>> {
  match value {
    Some(number) if number.fract() != 0.0 || !(low..=high).contains(&number) => Err(EngineError::new(
      ErrorCode::InvalidInput,
      format!("{name} must be a whole number from {low} to {high}, got {number}"),
    )),
    _ => Ok(value),
  }
}
