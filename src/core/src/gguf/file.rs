//! One GGUF file: preamble, metadata, table of tensors.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek};

use super::error::{damaged, invalid};
use super::metadata::Metadata;
use super::reader::{LONGEST_KEPT_STRING, Reader};
use super::sniff;
use super::tensor::{TensorInfo, TensorType};
use super::value::{Array, ArrayContent, StringFacts, Value, ValueType};
use crate::error::Result;

/// Longest array of integers whose elements are kept: per-layer values are at most 512.
const LONGEST_KEPT_ARRAY: u64 = 4096;
/// Most elements llama.cpp accepts in an array.
const LONGEST_ARRAY: u64 = 1 << 30;
/// Longest key the format allows.
const LONGEST_KEY: u64 = 65_535;
/// `GGML_MAX_NAME` counts the terminating NUL.
const LONGEST_TENSOR_NAME: u64 = 63;
/// Alignment beyond this is damage: every real file uses 32.
const LARGEST_ALIGNMENT: u64 = 1 << 20;
/// Tensors are used where they lie in the mapped file; ggml asserts this alignment of them.
const TENSOR_ALIGNMENT: u64 = 32;

/// The header of one file.
#[derive(Debug, Clone)]
pub struct GgufFile {
  /// Version of the format, 2 or 3.
  pub version: u32,
  /// Alignment of tensor data, a power of two.
  pub alignment: u64,
  /// Key-value pairs.
  pub metadata: Metadata,
  /// Table of tensors, in file order.
  pub tensors: Vec<TensorInfo>,
  /// Where tensor data starts, bytes from the start of the file.
  pub data_offset: u64,
  /// Size of the file.
  pub file_size: u64,
}

impl GgufFile {
  /// Parses the header of a file of `file_size` bytes from its start. `MODEL_INVALID` says what is wrong with the
  /// bytes, `MODEL_UNSUPPORTED` names a tensor type that this build does not know.
  pub fn parse<R: Read + Seek>(reader: R, file_size: u64) -> Result<Self> {
    let mut reader = Reader::new(reader, file_size);
    let version = preamble(&mut reader)?;
    let tensor_count = reader.u64("the tensor count")?;
    let pair_count = reader.u64("the metadata count")?;
    reader.expect_items("tensors", tensor_count, 24)?;
    reader.expect_items("metadata pairs", pair_count, 14)?;

    let mut metadata = Metadata::default();
    for _ in 0..pair_count {
      pair(&mut reader, &mut metadata)?;
    }
    let alignment = alignment(&metadata)?;

    let mut names = HashSet::new();
    let mut tensors = Vec::new();
    for _ in 0..tensor_count {
      let tensor = tensor(&mut reader)?;
      if !names.insert(tensor.name.clone()) {
        return Err(damaged(format_args!("tensor {:?} is listed twice", tensor.name)));
      }
      tensors.push(tensor);
    }
    let data_offset = reader.position().next_multiple_of(alignment);
    let file = Self { version, alignment, metadata, tensors, data_offset, file_size };
    file.check_layout()?;
    Ok(file)
  }

  /// The tensors follow each other without gaps but padding, as llama.cpp requires, and end inside the file.
  fn check_layout(&self) -> Result<()> {
    let mut expected: u64 = 0;
    for tensor in &self.tensors {
      let name = &tensor.name;
      if tensor.offset != expected {
        let offset = tensor.offset;
        return Err(damaged(format_args!("tensor {name:?} starts at {offset}, but {expected} is its place")));
      }
      let start = self.data_offset + expected;
      if !start.is_multiple_of(TENSOR_ALIGNMENT) {
        return Err(invalid(format!(
          "tensor {name:?} is not aligned to {TENSOR_ALIGNMENT} bytes and could not be mapped into memory; \
           convert the model again with the default alignment"
        )));
      }
      let end = start.saturating_add(tensor.bytes);
      if end > self.file_size {
        return Err(damaged(format_args!(
          "tensor {name:?} ends at byte {end}, but the file has only {}",
          self.file_size
        )));
      }
      expected = (end - self.data_offset).next_multiple_of(self.alignment);
    }
    Ok(())
  }
}

fn preamble<R: Read + Seek>(reader: &mut Reader<R>) -> Result<u32> {
  if reader.left() == 0 {
    return Err(damaged("the file is empty"));
  }
  let mut start = vec![0; usize::try_from(reader.left().min(64)).unwrap_or(0)];
  reader.peek(&mut start)?;
  if !start.starts_with(b"GGUF") {
    return Err(sniff::not_gguf(&start));
  }
  reader.skip("the magic", 4)?;
  match reader.u32("the version")? {
    version @ (2 | 3) => Ok(version),
    version if version.trailing_zeros() >= 16 => {
      Err(invalid("the file is a GGUF for big-endian machines; download the ordinary (little-endian) file"))
    }
    1 => {
      Err(invalid("the file is GGUF version 1, which is no longer readable; download a current conversion"))
    }
    version => Err(invalid(format!("GGUF version {version} is unknown; versions 2 and 3 are readable"))),
  }
}

fn pair<R: Read + Seek>(reader: &mut Reader<R>, metadata: &mut Metadata) -> Result<()> {
  let key = reader.name("a metadata key", LONGEST_KEY)?;
  let kind = value_type(reader, &key)?;
  let value = value(reader, &key, kind)?;
  if metadata.get(&key).is_some() {
    return Err(damaged(format_args!("the key {key:?} appears twice")));
  }
  metadata.insert(key, value);
  Ok(())
}

fn value_type<R: Read + Seek>(reader: &mut Reader<R>, key: &str) -> Result<ValueType> {
  let code = reader.u32(key)?;
  ValueType::from_code(code)
    .ok_or_else(|| damaged(format_args!("the key {key:?} has the unknown type {code}")))
}

fn value<R: Read + Seek>(reader: &mut Reader<R>, key: &str, kind: ValueType) -> Result<Value> {
  Ok(match kind {
    ValueType::U8 | ValueType::U16 | ValueType::U32 | ValueType::U64 => {
      Value::Unsigned(kind, integer(reader, key, kind)?.cast_unsigned())
    }
    ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64 => {
      Value::Signed(kind, integer(reader, key, kind)?)
    }
    ValueType::Bool => Value::Bool(integer(reader, key, kind)? != 0),
    ValueType::F32 => Value::Float(kind, f64::from(f32::from_le_bytes(reader.bytes(key)?))),
    ValueType::F64 => Value::Float(kind, f64::from_le_bytes(reader.bytes(key)?)),
    ValueType::String => {
      let length = reader.string_length(key)?;
      if length > LONGEST_KEPT_STRING {
        reader.skip(key, length)?;
        return Ok(Value::LongString(length));
      }
      let mut text = Vec::new();
      reader.rest_of_string(key, length, &mut text)?;
      Value::String(
        String::from_utf8(text)
          .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
      )
    }
    ValueType::Array => Value::Array(array(reader, key)?),
  })
}

/// An integer of any width. 64-bit unsigned values keep their bits.
fn integer<R: Read + Seek>(reader: &mut Reader<R>, key: &str, kind: ValueType) -> Result<i64> {
  Ok(match kind {
    ValueType::I8 => i64::from(i8::from_le_bytes(reader.bytes(key)?)),
    ValueType::U16 => i64::from(u16::from_le_bytes(reader.bytes(key)?)),
    ValueType::I16 => i64::from(i16::from_le_bytes(reader.bytes(key)?)),
    ValueType::U32 => i64::from(reader.u32(key)?),
    ValueType::I32 => i64::from(i32::from_le_bytes(reader.bytes(key)?)),
    ValueType::U64 | ValueType::I64 => i64::from_le_bytes(reader.bytes(key)?),
    _ => i64::from(u8::from_le_bytes(reader.bytes(key)?)),
  })
}

fn array<R: Read + Seek>(reader: &mut Reader<R>, key: &str) -> Result<Array> {
  let kind = value_type(reader, key)?;
  let len = reader.u64(key)?;
  if kind == ValueType::Array {
    return Err(damaged(format_args!("the key {key:?} is an array of arrays, which llama.cpp cannot read")));
  }
  if len > LONGEST_ARRAY {
    return Err(damaged(format_args!("the key {key:?} claims {len} elements")));
  }
  reader.expect_items(key, len, kind.size().unwrap_or(8))?;
  let content = match kind.size() {
    None => ArrayContent::Strings(strings(reader, key, len)?),
    Some(_) if len <= LONGEST_KEPT_ARRAY && !matches!(kind, ValueType::F32 | ValueType::F64) => {
      let values: Result<Vec<i64>> = (0..len).map(|_| integer(reader, key, kind)).collect();
      ArrayContent::Integers(values?)
    }
    Some(size) => {
      reader.skip(key, len * size)?;
      ArrayContent::Counted
    }
  };
  Ok(Array { kind, len, content })
}

/// Passes over strings, looking for repetitions (of the vocabulary only: merges and labels may repeat).
fn strings<R: Read + Seek>(reader: &mut Reader<R>, key: &str, len: u64) -> Result<StringFacts> {
  let mut facts = StringFacts::default();
  if key != "tokenizer.ggml.tokens" {
    for _ in 0..len {
      let length = reader.string_length(key)?;
      reader.skip(key, length)?;
    }
    return Ok(facts);
  }
  // 64 bits per token instead of its text: with 2^18 tokens a false repetition has a chance of 2^-29.
  let mut seen = HashSet::new();
  let mut text = Vec::new();
  for index in 0..len {
    reader.string_into(key, LONGEST_KEPT_STRING, &mut text)?;
    let visible = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    visible.hash(&mut hasher);
    // llama.cpp numbers empty tokens, so they never collide.
    if !visible.is_empty() && !seen.insert(hasher.finish()) && facts.duplicate.is_none() {
      facts.duplicate = Some(index);
    }
  }
  Ok(facts)
}

fn alignment(metadata: &Metadata) -> Result<u64> {
  match metadata.get("general.alignment") {
    None => Ok(32),
    Some(Value::Unsigned(ValueType::U32, value))
      if value.is_power_of_two() && *value <= LARGEST_ALIGNMENT =>
    {
      Ok(*value)
    }
    Some(_) => Err(damaged("general.alignment is not a 32-bit power of two of at most 1 MiB")),
  }
}

fn tensor<R: Read + Seek>(reader: &mut Reader<R>) -> Result<TensorInfo> {
  let name = reader.name("a tensor name", LONGEST_TENSOR_NAME)?;
  let count = reader.u32(&name)?;
  if count > 4 {
    return Err(damaged(format_args!("tensor {name:?} has {count} dimensions; four are the most")));
  }
  let dimensions: Result<Vec<u64>> = (0..count).map(|_| reader.u64(&name)).collect();
  let dimensions = dimensions?;
  let kind = TensorType::require(reader.u32(&name)?, &name)?;
  let bytes = TensorInfo::size(&name, &dimensions, kind)?;
  let offset = reader.u64(&name)?;
  Ok(TensorInfo { name, dimensions, kind, offset, bytes })
}
