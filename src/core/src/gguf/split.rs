//! Models in several files, named `<prefix>-00001-of-00003.gguf` and so on.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::{damaged, invalid};
use super::metadata::Metadata;
use super::value::{Value, ValueType};
use crate::error::{EngineError, ErrorCode, Result};

/// Place of a file in a split model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
  /// Index of the file, from 0.
  pub(super) number: u64,
  /// Number of files, at least 2.
  pub(super) count: u64,
}

/// Reads `split.*`; none for a model in one file. llama.cpp reads 16-bit values and asserts that they are.
pub(super) fn of(metadata: &Metadata) -> Result<Option<Split>> {
  let field = |key: &str| match metadata.get(key) {
    None => Ok(None),
    Some(Value::Unsigned(ValueType::U16, value)) => Ok(Some(*value)),
    Some(_) => Err(damaged(format_args!("{key} is not a 16-bit number"))),
  };
  let (number, count) = (field("split.no")?, field("split.count")?);
  let Some(count) = count.filter(|count| *count > 1) else { return Ok(None) };
  let number = number.ok_or_else(|| damaged("split.no is missing"))?;
  if number >= count {
    return Err(damaged(format_args!("the file claims to be part {} of {count}", number + 1)));
  }
  Ok(Some(Split { number, count }))
}

/// The paths of all parts, given the path of the first.
pub(super) fn paths(first: &Path, split: Split) -> Result<Vec<PathBuf>> {
  let suffix = |number: u64| format!("-{:05}-of-{:05}.gguf", number + 1, split.count);
  let name = first.file_name().unwrap_or_default().as_encoded_bytes();
  let own = suffix(split.number);
  let Some(prefix) = name.strip_suffix(own.as_bytes()).filter(|prefix| !prefix.is_empty()) else {
    return Err(invalid(format!(
      "this is part {} of a model in {} files, and its name must end in {own:?} for the others to be found; \
       rename the files to what they were called when downloaded",
      split.number + 1,
      split.count
    )));
  };
  let prefix = os_string(prefix);
  let sibling = |number: u64| {
    let mut name = prefix.clone();
    name.push(suffix(number));
    first.with_file_name(name)
  };
  if split.number != 0 {
    let first = sibling(0);
    return Err(EngineError::new(
      ErrorCode::ModelInvalid,
      format!(
        "this is part {} of {}; name the first file, {}",
        split.number + 1,
        split.count,
        first.display()
      ),
    ));
  }
  Ok((0..split.count).map(sibling).collect())
}

/// File names on Unix are bytes; elsewhere the platform's strings are Unicode but for lone surrogates.
#[cfg(unix)]
fn os_string(bytes: &[u8]) -> OsString {
  std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> OsString {
  String::from_utf8_lossy(bytes).into_owned().into()
}
