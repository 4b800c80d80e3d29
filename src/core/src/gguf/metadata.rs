//! Lookups in the metadata of a file.

use std::collections::BTreeMap;

use super::error::invalid;
use super::value::{Array, Value};
use crate::error::Result;

/// Key-value pairs of a GGUF file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
  entries: BTreeMap<String, Value>,
}

impl Metadata {
  /// Adds a pair; false when the key was there already.
  pub(super) fn insert(&mut self, key: String, value: Value) -> bool {
    self.entries.insert(key, value).is_none()
  }

  /// The value of `key`.
  pub fn get(&self, key: &str) -> Option<&Value> {
    self.entries.get(key)
  }

  /// The keys, sorted.
  pub fn keys(&self) -> impl Iterator<Item = &str> {
    self.entries.keys().map(String::as_str)
  }

  /// A non-negative integer of any integer type.
  pub fn get_u64(&self, key: &str) -> Option<u64> {
    self.get(key)?.as_u64()
  }

  /// A non-negative integer below 2^32.
  pub fn get_u32(&self, key: &str) -> Option<u32> {
    self.get_u64(key)?.try_into().ok()
  }

  /// A string that was kept.
  pub fn get_str(&self, key: &str) -> Option<&str> {
    match self.get(key)? {
      Value::String(text) => Some(text),
      _ => None,
    }
  }

  /// A boolean.
  pub fn get_bool(&self, key: &str) -> Option<bool> {
    match self.get(key)? {
      Value::Bool(value) => Some(*value),
      _ => None,
    }
  }

  /// A float.
  pub fn get_f64(&self, key: &str) -> Option<f64> {
    self.get(key)?.as_f64()
  }

  /// An array.
  pub fn get_array(&self, key: &str) -> Option<&Array> {
    match self.get(key)? {
      Value::Array(array) => Some(array),
      _ => None,
    }
  }

  /// An integer that may be missing but, when there, is within `range`; otherwise `MODEL_INVALID`.
  pub(super) fn integer(&self, key: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>> {
    let Some(value) = self.get(key) else { return Ok(None) };
    let number = value.as_u64().ok_or_else(|| invalid(format!("{key} is not a non-negative integer")))?;
    if !range.contains(&number) {
      let (low, high) = (range.start(), range.end());
      return Err(super::error::damaged(format_args!("{key} is {number}, but {low} to {high} is possible")));
    }
    Ok(Some(number))
  }

  /// An integer per layer: one for all, or an array with exactly one for each of `layers`.
  pub(super) fn per_layer(&self, key: &str, layers: usize) -> Result<Option<Vec<u64>>> {
    let Some(value) = self.get(key) else { return Ok(None) };
    let Value::Array(array) = value else {
      let number = value.as_u64().ok_or_else(|| invalid(format!("{key} is not a non-negative integer")))?;
      return Ok(Some(vec![number; layers]));
    };
    let values = array.unsigned().ok_or_else(|| invalid(format!("{key} is not an array of integers")))?;
    if values.len() != layers {
      return Err(super::error::damaged(format_args!(
        "{key} has {} entries for {layers} layers",
        values.len()
      )));
    }
    Ok(Some(values))
  }
}
