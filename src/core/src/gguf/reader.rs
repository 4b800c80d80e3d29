//! Reads primitive values and never asks for more than the file has left.

use std::io::{BufReader, ErrorKind, Read, Seek};

use super::error::{damaged, invalid};
use crate::error::Result;

/// Longest string that is kept; longer ones are passed over.
pub(super) const LONGEST_KEPT_STRING: u64 = 4 << 20;

/// Longest string llama.cpp accepts.
const LONGEST_STRING: u64 = 1 << 30;

/// Sequential reader over a file of known size.
pub(super) struct Reader<R: Read + Seek> {
  inner: BufReader<R>,
  position: u64,
  size: u64,
}

impl<R: Read + Seek> Reader<R> {
  pub(super) fn new(inner: R, size: u64) -> Self {
    Self { inner: BufReader::with_capacity(64 << 10, inner), position: 0, size }
  }

  pub(super) fn position(&self) -> u64 {
    self.position
  }

  pub(super) fn left(&self) -> u64 {
    self.size - self.position
  }

  /// Refuses `count` items of at least `least` bytes each when the rest of the file cannot hold them.
  pub(super) fn expect_items(&self, what: &str, count: u64, least: u64) -> Result<()> {
    match count.checked_mul(least) {
      Some(bytes) if bytes <= self.left() => Ok(()),
      _ => Err(damaged(format_args!("{what}: {count} claimed, but only {} bytes are left", self.left()))),
    }
  }

  fn take(&mut self, what: &str, bytes: u64) -> Result<()> {
    if bytes > self.left() {
      return Err(damaged(format_args!(
        "the file ends inside {what} (byte {} of {}, {bytes} more needed)",
        self.position, self.size
      )));
    }
    self.position += bytes;
    Ok(())
  }

  fn fill(&mut self, what: &str, buffer: &mut [u8]) -> Result<()> {
    self.take(what, buffer.len() as u64)?;
    self.inner.read_exact(buffer).map_err(|error| match error.kind() {
      ErrorKind::UnexpectedEof => damaged(format_args!("the file ends inside {what}")),
      _ => invalid(format!("the file cannot be read: {error}")),
    })
  }

  /// Copies bytes at the start of the file without consuming them.
  pub(super) fn peek(&mut self, buffer: &mut [u8]) -> Result<()> {
    let length = i64::try_from(buffer.len()).unwrap_or(0);
    self.fill("the first bytes", buffer)?;
    self.position -= buffer.len() as u64;
    self.inner.seek_relative(-length).map_err(|error| invalid(format!("the file cannot be read: {error}")))
  }

  pub(super) fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
    let mut buffer = [0; N];
    self.fill(what, &mut buffer)?;
    Ok(buffer)
  }

  pub(super) fn u32(&mut self, what: &str) -> Result<u32> {
    self.bytes(what).map(u32::from_le_bytes)
  }

  pub(super) fn u64(&mut self, what: &str) -> Result<u64> {
    self.bytes(what).map(u64::from_le_bytes)
  }

  pub(super) fn skip(&mut self, what: &str, bytes: u64) -> Result<()> {
    self.take(what, bytes)?;
    let offset = i64::try_from(bytes).map_err(|_| damaged(format_args!("{what} is absurdly long")))?;
    self.inner.seek_relative(offset).map_err(|error| invalid(format!("the file cannot be read: {error}")))
  }

  /// Length prefix of a string, compared with the bytes left.
  pub(super) fn string_length(&mut self, what: &str) -> Result<u64> {
    let length = self.u64(what)?;
    if length > LONGEST_STRING || length > self.left() {
      return Err(damaged(format_args!(
        "{what} claims a length of {length} bytes, but only {} are left",
        self.left()
      )));
    }
    Ok(length)
  }

  /// A string's bytes into `buffer`, whose capacity is reused. `limit` bounds the length.
  pub(super) fn string_into(&mut self, what: &str, limit: u64, buffer: &mut Vec<u8>) -> Result<()> {
    let length = self.string_length(what)?;
    if length > limit {
      return Err(damaged(format_args!("{what} is {length} bytes long, more than the {limit} allowed")));
    }
    self.rest_of_string(what, length, buffer)
  }

  pub(super) fn rest_of_string(&mut self, what: &str, length: u64, buffer: &mut Vec<u8>) -> Result<()> {
    buffer.clear();
    // The length was compared with the bytes left and with a limit of a few MiB.
    buffer.resize(usize::try_from(length).unwrap_or(0), 0);
    self.fill(what, buffer)
  }

  /// A name: not empty, UTF-8, no NUL byte (C code would see only what precedes it).
  pub(super) fn name(&mut self, what: &str, limit: u64) -> Result<String> {
    let mut buffer = Vec::new();
    self.string_into(what, limit, &mut buffer)?;
    let text = String::from_utf8(buffer).map_err(|_| damaged(format_args!("{what} is not text")))?;
    if text.is_empty() || text.contains('\0') {
      return Err(damaged(format_args!("{what} is empty or contains a NUL byte")));
    }
    Ok(text)
  }
}
