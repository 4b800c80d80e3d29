//! Writes small GGUF files for tests.

#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot build its input fails")]

use std::io::Cursor;
use std::path::Path;

use local_inference_core::error::Result;
use local_inference_core::gguf::{GgufFile, GgufHeader, TensorType};

/// A GGUF under construction: pairs and tensors in the order in which they are added.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writer {
  pairs: Vec<(String, Vec<u8>)>,
  tensors: Vec<(String, Vec<u64>, u32)>,
  alignment: u64,
}

fn text(value: &str) -> Vec<u8> {
  [&(value.len() as u64).to_le_bytes()[..], value.as_bytes()].concat()
}

impl Writer {
  pub(crate) fn new() -> Self {
    Self { alignment: 32, ..Self::default() }
  }

  /// Adds a pair from the type's number and the bytes of the value.
  pub(crate) fn raw(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
    self.pairs.retain(|pair| pair.0 != key);
    self.pairs.push((key.to_owned(), [&kind.to_le_bytes()[..], value].concat()));
    self
  }

  /// Adds a pair although the key is there already.
  pub(crate) fn again(mut self, key: &str) -> Self {
    let pair = self.pairs.iter().find(|pair| pair.0 == key).cloned().unwrap();
    self.pairs.push(pair);
    self
  }

  pub(crate) fn without(mut self, key: &str) -> Self {
    self.pairs.retain(|pair| pair.0 != key);
    self
  }

  pub(crate) fn u32(self, key: &str, value: u32) -> Self {
    self.raw(key, 4, &value.to_le_bytes())
  }

  pub(crate) fn u16(self, key: &str, value: u16) -> Self {
    self.raw(key, 2, &value.to_le_bytes())
  }

  pub(crate) fn i32(self, key: &str, value: i32) -> Self {
    self.raw(key, 5, &value.to_le_bytes())
  }

  pub(crate) fn flag(self, key: &str, value: bool) -> Self {
    self.raw(key, 7, &[u8::from(value)])
  }

  pub(crate) fn str(self, key: &str, value: &str) -> Self {
    self.raw(key, 8, &text(value))
  }

  pub(crate) fn strings(self, key: &str, values: &[&str]) -> Self {
    let items: Vec<Vec<u8>> = values.iter().map(|value| text(value)).collect();
    self.array(key, 8, values.len() as u64, &items.concat())
  }

  pub(crate) fn i32s(self, key: &str, values: &[i32]) -> Self {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    self.array(key, 5, values.len() as u64, &bytes)
  }

  pub(crate) fn array(self, key: &str, kind: u32, len: u64, items: &[u8]) -> Self {
    self.raw(key, 9, &[&kind.to_le_bytes()[..], &len.to_le_bytes(), items].concat())
  }

  /// Adds a tensor whose data is zeros.
  pub(crate) fn tensor(mut self, name: &str, dimensions: &[u64], kind: u32) -> Self {
    self.tensors.retain(|tensor| tensor.0 != name);
    self.tensors.push((name.to_owned(), dimensions.to_vec(), kind));
    self
  }

  pub(crate) fn aligned(self, alignment: u32) -> Self {
    Self { alignment: alignment.into(), ..self }.u32("general.alignment", alignment)
  }

  /// The header alone, up to the padding.
  pub(crate) fn header(&self) -> Vec<u8> {
    let mut out = b"GGUF\x03\0\0\0".to_vec();
    out.extend((self.tensors.len() as u64).to_le_bytes());
    out.extend((self.pairs.len() as u64).to_le_bytes());
    for (key, value) in &self.pairs {
      out.extend(text(key));
      out.extend(value);
    }
    let mut offset: u64 = 0;
    for (name, dimensions, kind) in &self.tensors {
      out.extend(text(name));
      out.extend(u32::try_from(dimensions.len()).unwrap().to_le_bytes());
      out.extend(dimensions.iter().flat_map(|length| length.to_le_bytes()));
      out.extend(kind.to_le_bytes());
      out.extend(offset.to_le_bytes());
      offset = (offset + size(dimensions, *kind)).next_multiple_of(self.alignment);
    }
    out
  }

  /// The header read back.
  pub(crate) fn read(&self) -> Result<GgufHeader> {
    read(&self.bytes())
  }

  /// The whole file.
  pub(crate) fn bytes(&self) -> Vec<u8> {
    let mut out = self.header();
    let pad =
      |out: &mut Vec<u8>| out.resize(out.len().next_multiple_of(usize::try_from(self.alignment).unwrap()), 0);
    for (_, dimensions, kind) in &self.tensors {
      pad(&mut out);
      out.resize(out.len() + usize::try_from(size(dimensions, *kind)).unwrap(), 0);
    }
    out
  }
}

/// Reads and validates a model from bytes.
pub(crate) fn read(bytes: &[u8]) -> Result<GgufHeader> {
  GgufHeader::from_reader(Path::new("test.gguf"), Cursor::new(bytes), bytes.len() as u64)
}

/// Parses the bytes of one file.
pub(crate) fn parse(bytes: &[u8]) -> Result<GgufFile> {
  GgufFile::parse(Cursor::new(bytes), bytes.len() as u64)
}

fn size(dimensions: &[u64], kind: u32) -> u64 {
  let elements: u64 = dimensions.iter().product();
  TensorType::from_code(kind).map_or(0, |kind| elements.div_ceil(kind.block_elements) * kind.block_bytes)
}

/// A complete small chat model: llama, 2 layers, width 64, 4 heads with 2 key-value heads, 8 tokens, 512 of context.
pub(crate) fn llama() -> Writer {
  Writer::new()
    .str("general.architecture", "llama")
    .str("general.name", "Tiny Test")
    .u32("general.file_type", 7)
    .u32("llama.context_length", 512)
    .u32("llama.embedding_length", 64)
    .u32("llama.block_count", 2)
    .u32("llama.feed_forward_length", 128)
    .u32("llama.attention.head_count", 4)
    .u32("llama.attention.head_count_kv", 2)
    .str("tokenizer.ggml.model", "llama")
    .strings("tokenizer.ggml.tokens", &["<unk>", "<s>", "</s>", "a", "b", "c", "d", "e"])
    .i32s("tokenizer.ggml.token_type", &[2, 3, 3, 1, 1, 1, 1, 1])
    .str("tokenizer.chat_template", "{{ messages }}")
    .tensor("token_embd.weight", &[64, 8], 8)
    .tensor("output_norm.weight", &[64], 0)
}
