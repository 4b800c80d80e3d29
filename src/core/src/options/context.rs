//! The context in which sequences are evaluated.

use std::str::FromStr;
use std::time::Duration;

use super::check;
use super::load::MAX_HEADROOM;
use super::request::MAX_QUEUE_TIMEOUT;
use super::speculation::SpeculationOptions;
use crate::durable::StateOptions;
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
/// Sequences of a context where the memory allows and nothing else was asked for.
pub const DEFAULT_PARALLEL: u32 = 4;
/// Most requests that may wait in one lane.
pub const MAX_QUEUE: u32 = 1 << 20;

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
  /// Sequences evaluated side by side, 1 to 256. Default `None`: 4, or 2 or 1 where more would cost context size.
  pub parallel: Option<u32>,
  /// Bytes of memory to leave to others, 0 to 2^53 - 1. Default `None`: decided by the size of the machine.
  pub memory_headroom: Option<u64>,
  /// Layers with a sliding window keep little more than it: less memory, but only whole snapshots serve other requests.
  /// Default false: decided by the memory.
  pub trim_windows: bool,
  /// Most bytes of snapshots for requests that begin alike, 0 (none) to 2^53 - 1. Default `None`: a sixteenth of the
  /// memory that is available, at most 1 GiB.
  pub prefix_cache: Option<u64>,
  /// Most requests that wait in one lane, 1 to 1,048,576; more fail with `QUEUE_FULL`. Default 256.
  pub queue_limit: u32,
  /// Longest wait of requests that name none, up to a day; then they fail with `QUEUE_TIMEOUT`. Default `None`: no limit.
  pub queue_timeout: Option<Duration>,
  /// Where KV caches of conversations are stored. Default `None`: nowhere.
  pub state: Option<StateOptions>,
  /// Speculative decoding. Default none.
  pub speculation: SpeculationOptions,
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
      parallel: None,
      memory_headroom: None,
      trim_windows: false,
      prefix_cache: None,
      queue_limit: 256,
      queue_timeout: None,
      state: None,
      speculation: SpeculationOptions::default(),
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
    let parallel = self.parallel.unwrap_or(1);
    check::in_range("parallel", parallel, 1..=MAX_PARALLEL)?;
    if let Some(size) = self.requested_size() {
      check::in_range("contextSize", size, parallel..=MAX_CONTEXT)?;
    }
    check::in_range("batchSize", self.batch_size, 1..=MAX_BATCH)?;
    check::in_range("microBatchSize", self.micro_batch_size, 1..=MAX_BATCH)?;
    if let Some(threads) = self.threads {
      check::in_range("threads", threads, 1..=MAX_THREADS)?;
    }
    self.speculation.validate()?;
    check::in_range("memoryHeadroomBytes", self.memory_headroom.unwrap_or(0), 0..=MAX_HEADROOM)?;
    check::in_range("prefixCacheBytes", self.prefix_cache.unwrap_or(0), 0..=MAX_HEADROOM)?;
    check::in_range("queueLimit", self.queue_limit, 1..=MAX_QUEUE)?;
    if let Some(timeout) = self.queue_timeout {
      let most = u64::try_from(MAX_QUEUE_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
      check::in_range("queueTimeoutMs", u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX), 0..=most)?;
    }
    if let Some(state) = &self.state {
      check::in_range("stateBytes", state.bytes, 1..=MAX_HEADROOM)?;
    }
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
