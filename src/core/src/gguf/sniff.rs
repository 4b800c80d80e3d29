//! Says what a file that is not a GGUF looks like.

use super::error::{damaged, invalid};
use crate::error::EngineError;

/// The error for a file that starts with `start` (up to 64 bytes) instead of the magic.
pub(super) fn not_gguf(start: &[u8]) -> EngineError {
  let text = String::from_utf8_lossy(start).to_ascii_lowercase();
  let text = text.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']);
  if text.starts_with("<!doctype") || text.starts_with("<html") || text.starts_with("<?xml") {
    return invalid(
      "the file is a web page, not a model: the download was answered with an error or a login page; \
       download the .gguf file itself",
    );
  }
  if text.starts_with("version https://git-lfs") {
    return invalid("the file is a Git LFS pointer, not the model; fetch the content with `git lfs pull`");
  }
  if start.starts_with(b"FUGG") {
    return invalid(
      "the file is a GGUF with reversed byte order; download the ordinary (little-endian) file",
    );
  }
  if [b"ggml", b"tjgg", b"algg", b"lmgg", b"ggjt", b"ggla"].iter().any(|magic| start.starts_with(*magic)) {
    return invalid(
      "the file has the GGML format that preceded GGUF; download a GGUF conversion of the model",
    );
  }
  if start.starts_with(b"PK\x03\x04") || start.starts_with(&[0x80, 2]) {
    return invalid(
      "the file is a PyTorch checkpoint or a ZIP archive; download a GGUF conversion of the model",
    );
  }
  if start.starts_with(&[0x1f, 0x8b]) || start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
    return invalid("the file is compressed; unpack it first");
  }
  if start.len() > 8 && start[8] == b'{' && start[5..8] == [0; 3] {
    return invalid("the file is in the safetensors format; download a GGUF conversion of the model");
  }
  if start.iter().all(|byte| *byte == 0) {
    return damaged("the file starts with zeros: a download that was only reserved, not written");
  }
  if b"GGUF".starts_with(start) {
    return damaged("the file ends inside the magic");
  }
  let printable = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
  if start.iter().all(printable) {
    let shown: String = String::from_utf8_lossy(start).chars().take(40).collect();
    return invalid(format!("the file is text ({shown:?}), not a GGUF model"));
  }
  invalid("the file is not a GGUF model: it does not start with the letters GGUF")
}
