//! Checks that all options share; each failure is `INVALID_INPUT` with the field, the value and what is allowed.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::error::{EngineError, ErrorCode, Result};

pub(super) fn invalid(message: impl Into<String>) -> EngineError {
  EngineError::new(ErrorCode::InvalidInput, message)
}

/// A number within `range`; NaN is in none.
pub(super) fn in_range<T: Copy + PartialOrd + Display>(
  field: &str,
  value: T,
  range: RangeInclusive<T>,
) -> Result<()> {
  if range.contains(&value) {
    return Ok(());
  }
  let (low, high) = range.into_inner();
  Err(invalid(format!("{field} must be between {low} and {high}, got {value}")))
}

/// At most `count` strings, each of `bytes` bytes.
pub(super) fn strings(
  field: &str,
  values: &[String],
  count: usize,
  bytes: RangeInclusive<usize>,
) -> Result<()> {
  if values.len() > count {
    return Err(invalid(format!("{field} must have at most {count} entries, got {}", values.len())));
  }
  match values.iter().position(|value| !bytes.contains(&value.len())) {
    None => Ok(()),
    Some(index) => {
      let (low, high) = bytes.into_inner();
      let length = values[index].len();
      Err(invalid(format!("{field} entry {index} must be {low} to {high} bytes long, got {length}")))
    }
  }
}

/// Strings that are handed to C, where a NUL would end them early.
pub(super) fn without_nul(field: &str, values: &[String]) -> Result<()> {
  match values.iter().position(|value| value.contains('\0')) {
    None => Ok(()),
    Some(index) => Err(invalid(format!("{field} entry {index} must not contain a NUL character"))),
  }
}
