//! The facts of a GGUF header, as a JavaScript object.

use std::path::PathBuf;

use local_inference_core::gguf::{GgufHeader, ModelKind, Pooling};
use napi_derive::napi;

use crate::numbers::number;
use crate::promise::blocking;

#[napi(object, object_from_js = false)]
pub struct ModelHeader {
  pub path: String,
  pub files: Vec<String>,
  pub file_bytes: f64,
  pub weight_bytes: f64,
  pub architecture: String,
  pub name: Option<String>,
  pub quantization: String,
  pub file_type: Option<u32>,
  pub parameter_count: f64,
  pub tensor_count: f64,
  pub context_length: u32,
  pub embedding_length: u32,
  pub block_count: u32,
  pub vocabulary_size: u32,
  pub tokenizer_model: Option<String>,
  pub chat_template: Option<String>,
  #[napi(ts_type = "\"none\" | \"mean\" | \"cls\" | \"last\" | \"rank\"")]
  pub pooling: Option<&'static str>,
  #[napi(ts_type = "\"chat\" | \"embedding\" | \"vocabulary\"")]
  pub kind: &'static str,
  pub sliding_window: Option<u32>,
}

/// Reads the header of the GGUF at `path` without loading weights.
#[napi]
pub async fn read_header(path: String) -> napi::Result<ModelHeader> {
  blocking(move || Ok(ModelHeader::from(&GgufHeader::read(&PathBuf::from(path))?))).await
}

impl From<&GgufHeader> for ModelHeader {
  fn from(header: &GgufHeader) -> Self {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    Self {
      path: text(&header.path),
      files: header.files.iter().map(text).collect(),
      file_bytes: number(header.file_bytes),
      weight_bytes: number(header.weight_bytes),
      architecture: header.architecture.clone(),
      name: header.name.clone(),
      quantization: header.quantization.clone(),
      file_type: header.file_type,
      parameter_count: number(header.parameter_count),
      tensor_count: number(header.tensor_count),
      context_length: header.context_length,
      embedding_length: header.embedding_length,
      block_count: header.block_count,
      vocabulary_size: header.vocabulary_size,
      tokenizer_model: header.tokenizer_model.clone(),
      chat_template: header.chat_template.clone(),
      pooling: header.pooling.map(Pooling::as_str),
      kind: match header.kind {
        ModelKind::Chat => "chat",
        ModelKind::Embedding => "embedding",
        ModelKind::Vocabulary => "vocabulary",
      },
      sliding_window: header.sliding_window,
    }
  }
}
