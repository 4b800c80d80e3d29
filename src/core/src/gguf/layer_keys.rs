//! What the metadata say of a model's layers.

use super::error::damaged;
use super::metadata::Metadata;
use crate::error::Result;

/// `LLAMA_MAX_LAYERS`.
pub(super) const MOST_LAYERS: u64 = 512;
/// Larger widths than any model has; keeps every product below 2^63.
pub(super) const WIDEST: u64 = 1 << 24;

/// Metadata under the architecture's prefix.
pub(super) struct Keys<'a> {
  pub(super) metadata: &'a Metadata,
  pub(super) architecture: &'a str,
}

impl Keys<'_> {
  pub(super) fn key(&self, name: &str) -> String {
    format!("{}.{name}", self.architecture)
  }

  pub(super) fn optional(&self, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>> {
    self.metadata.integer(&self.key(name), range)
  }

  pub(super) fn required(&self, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64> {
    self.optional(name, range)?.ok_or_else(|| damaged(format_args!("{} is missing", self.key(name))))
  }

  pub(super) fn length(&self, name: &str, default: u64) -> Result<u64> {
    Ok(self.optional(name, 0..=WIDEST)?.unwrap_or(default))
  }

  pub(super) fn list(&self, name: &str, layers: usize) -> Result<Option<Vec<u64>>> {
    let values = self.metadata.per_layer(&self.key(name), layers)?;
    match values.as_ref().and_then(|values| values.iter().find(|value| **value > WIDEST)) {
      Some(value) => Err(damaged(format_args!("{} is {value}, more than any model has", self.key(name)))),
      None => Ok(values),
    }
  }
}
