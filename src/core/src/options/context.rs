//! The context in which sequences are evaluated.

use std::str::FromStr;

use super::check;
use super::load::MAX_HEADROOM;
use crate::error::{EngineError, Result};
use crate::fit::KvType;

/// Most tokens of a context: above every published model, below what overflows in sizes of the KV cache.
pub const MAX_CONTEXT: u32 = 1 << 24;
/// Most tokens of one decode.
pub const MAX_BATCH: u32 = 1 << 16;
/// Most threads that ggml takes (`GGML_MAX_N_THREADS`).
pub const MAX_THREADS: u32 = 512;
/// Most sequences of a context (`LLAMA_MAX_SEQ`).
pub const MAX_PARALLEL: u32 = 256;

/// Whether attention is computed in blocks without storing the score matrix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FlashAttention {
  /// Where the backend supports it.
  #[default]
  Auto,
  /// Always.
  On,
  /// Never; a quantized V cache is then impossible.
  Off,
}

impl FromStr for FlashAttention {
  type Err = EngineError;

  fn from_str(text: &str) -> Result<Self> {
    match text {
      "auto" => Ok(Self::Auto),
      "on" => Ok(Self::On),
      "off" => Ok(Self::Off),
      other => {
        let shown: String = other.chars().take(40).collect();
        Err(check::invalid(format!("flashAttention must be \"auto\", \"on\" or \"off\", got {shown:?}")))
      }
    }
  }
}

/// Size and arithmetic of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextOptions {
  /// Tokens that all sequences share, 1 to 16,777,216 and at least `parallel`. Default `None` (0 means the same): the
  /// largest that fits the memory, up to what the model was trained with.
  pub context_size: Option<u32>,
  /// Type of the cached keys. Default `None`: chosen with the size.
  pub kv_type_k: Option<KvType>,
  /// Type of the cached values. Default `None`: chosen with the size.
  pub kv_type_v: Option<KvType>,
  /// Most tokens of one decode call, 1 to 65,536. Default 2,048.
  pub batch_size: u32,
  /// Tokens evaluated at once within a decode, 1 to 65,536; more than `batch_size` counts as `batch_size`. Default 512.
  ///
  /// A cancel waits for at most one micro-batch where the backend cannot abort inside it, and compute buffers grow with
  /// it; larger ones speed up prefill on GPUs only.
  pub micro_batch_size: u32,
  /// Threads that evaluate, 1 to 512. Default `None`: the physical cores that the process may use.
  pub threads: Option<u32>,
  /// Blockwise attention. Default [`FlashAttention::Auto`].
  pub flash_attention: FlashAttention,
  /// Sequences evaluated side by side, 1 to 256. Default 1.
  pub parallel: u32,
  /// Bytes of memory to leave to others, 0 to 2^53 - 1. Default `None`: decided by the size of the machine.
  pub memory_headroom: Option<u64>,
}

impl Default for ContextOptions {
  fn default() -> Self {
    Self {
      context_size: None,
      kv_type_k: None,
      kv_type_v: None,
      batch_size: 2_048,
      micro_batch_size: 512,
      threads: None,
      flash_attention: FlashAttention::Auto,
      parallel: 1,
      memory_headroom: None,
    }
  }
}

impl ContextOptions {
  /// The size that was asked for, if one was.
  pub fn requested_size(&self) -> Option<u32> {
    self.context_size.filter(|&size| size > 0)
  }

  /// Tokens evaluated at once: the micro-batch, limited by the batch.
  pub fn effective_micro_batch(&self) -> u32 {
    self.micro_batch_size.min(self.batch_size)
  }

  /// Checks every field against its range and against the others.
  ///
  /// # Errors
  /// `INVALID_INPUT` that names the field, its value and what is allowed.
  pub fn validate(&self) -> Result<()> {
    check::in_range("parallel", self.parallel, 1..=MAX_PARALLEL)?;
    if let Some(size) = self.requested_size() {
      check::in_range("contextSize", size, self.parallel..=MAX_CONTEXT)?;
    }
    check::in_range("batchSize", self.batch_size, 1..=MAX_BATCH)?;
    check::in_range("microBatchSize", self.micro_batch_size, 1..=MAX_BATCH)?;
    if let Some(threads) = self.threads {
      check::in_range("threads", threads, 1..=MAX_THREADS)?;
    }
    check::in_range("memoryHeadroomBytes", self.memory_headroom.unwrap_or(0), 0..=MAX_HEADROOM)?;
    match self.kv_type_v {
      Some(kind) if kind.quantized() && self.flash_attention == FlashAttention::Off => {
        Err(check::invalid(format!(
          "kvTypeV must be \"f32\", \"f16\" or \"bf16\" while flashAttention is \"off\", got \"{kind}\""
        )))
      }
      _ => Ok(()),
    }
  }
}
