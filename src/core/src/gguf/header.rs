//! The facts of a whole model.

use std::path::PathBuf;

use super::layers::Layers;
use super::metadata::Metadata;
use super::tensor::TensorInfo;
use crate::error::Result;

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelKind {
  /// Generates text.
  Chat,
  /// Turns text into one vector (or one score).
  Embedding,
  /// A tokenizer without weights.
  Vocabulary,
}

impl ModelKind {
  /// `chat`, `embedding` or `vocabulary`.
  pub const fn as_str(self) -> &'static str {
    match self {
      Self::Chat => "chat",
      Self::Embedding => "embedding",
      Self::Vocabulary => "vocabulary",
    }
  }
}

/// How an embedding model makes one vector of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
  /// One vector per token.
  None,
  /// The mean of all.
  Mean,
  /// That of the first token.
  Cls,
  /// That of the last token.
  Last,
  /// A relevance score.
  Rank,
}

impl Pooling {
  pub(super) const ALL: [Self; 5] = [Self::None, Self::Mean, Self::Cls, Self::Last, Self::Rank];

  /// `none`, `mean`, `cls`, `last` or `rank`.
  pub const fn as_str(self) -> &'static str {
    match self {
      Self::None => "none",
      Self::Mean => "mean",
      Self::Cls => "cls",
      Self::Last => "last",
      Self::Rank => "rank",
    }
  }
}

/// Everything known of a model without its weights.
#[derive(Debug, Clone)]
pub struct GgufHeader {
  /// The path that was given.
  pub path: PathBuf,
  /// All files of the model, the given one first.
  pub files: Vec<PathBuf>,
  /// Size of all files together.
  pub file_bytes: u64,
  /// `general.architecture`.
  pub architecture: String,
  /// `general.name`.
  pub name: Option<String>,
  /// Quantisation as in file names, e.g. `Q4_K_M`; `none` without tensors.
  pub quantization: String,
  /// `general.file_type`, llama.cpp's number for the quantisation.
  pub file_type: Option<u32>,
  /// Elements of all tensors.
  pub parameter_count: u64,
  /// Number of tensors.
  pub tensor_count: u64,
  /// Tokens of context the model was trained with; zero in a bare vocabulary.
  pub context_length: u32,
  /// Width of the hidden state; zero in a bare vocabulary.
  pub embedding_length: u32,
  /// Number of layers, those of a draft head included; zero in a bare vocabulary.
  pub block_count: u32,
  /// Number of tokens.
  pub vocabulary_size: u32,
  /// `tokenizer.ggml.model`.
  pub tokenizer_model: Option<String>,
  /// The default chat template.
  pub chat_template: Option<String>,
  /// How vectors are pooled, when the file says.
  pub pooling: Option<Pooling>,
  /// What the model is for.
  pub kind: ModelKind,
  /// Tokens that the sliding layers look back, when there are any.
  pub sliding_window: Option<u32>,
  /// Bytes of all tensors.
  pub weight_bytes: u64,
  pub(super) metadata: Metadata,
  pub(super) tensors: Vec<TensorInfo>,
}

impl GgufHeader {
  /// Key-value pairs of the (first) file.
  pub fn metadata(&self) -> &Metadata {
    &self.metadata
  }

  /// Tensors of all files.
  pub fn tensors(&self) -> &[TensorInfo] {
    &self.tensors
  }

  /// Sizes per layer.
  pub(crate) fn layers(&self) -> Result<Layers> {
    Layers::read(&self.metadata, &self.architecture)
  }
}
