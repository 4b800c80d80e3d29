//! The facts of a whole model, from the headers of all its files.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use super::error::{damaged, invalid};
use super::file::GgufFile;
use super::header::{GgufHeader, ModelKind, Pooling};
use super::metadata::Metadata;
use super::tensor::TensorInfo;
use super::value::{Value, ValueType};
use super::{hyperparameters, quantization, split, validate};
use crate::error::{EngineError, ErrorCode, Result};

impl GgufHeader {
  /// Reads and validates the model at `path`, with all its parts when it is split.
  ///
  /// `MODEL_NOT_FOUND` names a file that is missing, `MODEL_INVALID` what is wrong with one, `MODEL_UNSUPPORTED` why
  /// a sound file is not a model that can be run. Every message starts with the name of the file.
  pub fn read(path: &Path) -> Result<Self> {
    let (file, mut file_bytes) = open(path)?;
    let first = named(path, GgufFile::parse(file, file_bytes))?;
    let mut files = vec![path.to_owned()];
    let mut tensors = first.tensors;
    if let Some(split) = named(path, split::of(&first.metadata))? {
      files = named(path, split::paths(path, split))?;
      let mut names: HashSet<String> = tensors.iter().map(|tensor| tensor.name.clone()).collect();
      for (number, part) in (0..).zip(&files).skip(1) {
        let (reader, size) = open(part)?;
        file_bytes = file_bytes.saturating_add(size);
        let parsed = named(part, GgufFile::parse(reader, size))?;
        let place = split::Split { number, count: split.count };
        named(part, check_part(&parsed, place, &mut names))?;
        tensors.extend(parsed.tensors);
      }
      named(path, check_total(&first.metadata, tensors.len()))?;
    }
    named(path, Self::from_parts(path, files, file_bytes, first.metadata, tensors))
  }

  /// Reads and validates a model in one file from `reader`, which has `size` bytes; `path` is only noted.
  pub fn from_reader<R: Read + Seek>(path: &Path, reader: R, size: u64) -> Result<Self> {
    let file = GgufFile::parse(reader, size)?;
    if split::of(&file.metadata)?.is_some() {
      return Err(invalid("the model is split over several files"));
    }
    Self::from_parts(path, vec![path.to_owned()], size, file.metadata, file.tensors)
  }

  /// Assembles and validates a header.
  fn from_parts(
    path: &Path,
    files: Vec<PathBuf>,
    file_bytes: u64,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
  ) -> Result<Self> {
    let architecture = validate::check_role(&metadata)?.to_owned();
    let text = |key: &str| metadata.get_str(key).map(str::to_owned);
    let number = |key: &str| metadata.get_u32(&format!("{architecture}.{key}"));
    let pooling = number("pooling_type").and_then(|code| Pooling::ALL.get(code as usize).copied());
    let file_type = metadata.get_u32("general.file_type");
    let sum = |of: fn(&TensorInfo) -> u64| tensors.iter().map(of).fold(0, u64::saturating_add);
    let tokens = metadata.get_array("tokenizer.ggml.tokens").and_then(|array| u32::try_from(array.len).ok());
    let table = tensors.iter().find(|tensor| tensor.name == "token_embd.weight");
    let rows = table.and_then(|table| u32::try_from(table.dimension(1)).ok());
    let mut header = Self {
      path: path.to_owned(),
      files,
      file_bytes,
      name: text("general.name"),
      quantization: quantization::name(file_type, &tensors).to_owned(),
      file_type,
      parameter_count: sum(TensorInfo::elements),
      tensor_count: tensors.len() as u64,
      context_length: number("context_length").unwrap_or(0),
      embedding_length: number("embedding_length").unwrap_or(0),
      block_count: number("block_count").unwrap_or(0),
      vocabulary_size: tokens.or(number("vocab_size")).or(rows).unwrap_or(0),
      tokenizer_model: text("tokenizer.ggml.model"),
      chat_template: text("tokenizer.chat_template"),
      pooling,
      kind: kind(&architecture, pooling, tensors.is_empty()),
      sliding_window: None,
      weight_bytes: sum(|tensor| tensor.bytes),
      architecture,
      metadata,
      tensors,
    };
    validate::validate(&header)?;
    if header.block_count > 0 {
      let layers = header.layers()?;
      let window = layers.all.iter().find_map(|layer| layer.window);
      header.sliding_window = window.and_then(|window| window.try_into().ok());
    }
    Ok(header)
  }
}

fn kind(architecture: &str, pooling: Option<Pooling>, bare: bool) -> ModelKind {
  let pooled = pooling.is_some_and(|pooling| pooling != Pooling::None);
  match bare {
    true => ModelKind::Vocabulary,
    false if pooled || hyperparameters::is_encoder(architecture) => ModelKind::Embedding,
    false => ModelKind::Chat,
  }
}

/// Opens a regular file and says how long it is.
fn open(path: &Path) -> Result<(File, u64)> {
  let failed = |error: std::io::Error| match error.kind() {
    ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput => EngineError::new(
      ErrorCode::ModelNotFound,
      format!("there is no file {}; check the path or download the model", path.display()),
    ),
    _ => invalid(format!("{} cannot be read: {error}", path.display())),
  };
  // Opening a pipe would wait for a writer, so the kind of file is known first.
  let about = fs::metadata(path).map_err(failed)?;
  if about.is_dir() {
    return Err(invalid(format!("{} is a directory; name the .gguf file in it", path.display())));
  }
  if !about.is_file() {
    return Err(invalid(format!("{} is not a regular file", path.display())));
  }
  Ok((File::open(path).map_err(failed)?, about.len()))
}

/// Puts the file's name before an error's message.
fn named<T>(path: &Path, result: Result<T>) -> Result<T> {
  let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
  result.map_err(|error| EngineError::new(error.code(), format!("{name}: {error}")))
}

fn check_part(part: &GgufFile, place: split::Split, names: &mut HashSet<String>) -> Result<()> {
  match split::of(&part.metadata)? {
    Some(found) if found == place => {}
    _ => return Err(damaged(format_args!("the file is not part {} of {}", place.number + 1, place.count))),
  }
  match part.tensors.iter().find(|tensor| !names.insert(tensor.name.clone())) {
    Some(tensor) => Err(damaged(format_args!("tensor {:?} is in another part too", tensor.name))),
    None => Ok(()),
  }
}

fn check_total(metadata: &Metadata, found: usize) -> Result<()> {
  match metadata.get("split.tensors.count") {
    Some(Value::Signed(ValueType::I32, total)) if *total == i64::try_from(found).unwrap_or(-1) => Ok(()),
    Some(Value::Signed(ValueType::I32, total)) => {
      Err(damaged(format_args!("the parts have {found} tensors together, but {total} are expected")))
    }
    _ => Err(damaged("split.tensors.count is missing or has the wrong type")),
  }
}
