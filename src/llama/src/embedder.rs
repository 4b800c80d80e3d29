//! An embedding context with the thread that owns it: texts of waiting callers share decodes.

mod work;

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use llama_cpp_sys_2 as sys;
use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::Token;
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::fit::{KvType, Windows};
use local_inference_core::gguf::{ModelKind, Pooling};
use local_inference_core::hardware;
use local_inference_core::options::FlashAttention;
use local_inference_core::sync::lock;

use crate::context::{Context, ContextSettings};
use crate::model::Model;
pub use work::Reply;
use work::{Command, Job, SEQUENCES, SHARED_TOKENS, closed, run};

/// Longest text by default, in tokens.
const LONGEST_TEXT: u32 = 2048;

/// How to embed.
#[derive(Debug, Clone, Default)]
pub struct EmbedderOptions {
  /// Longest text in tokens; default: what the model was trained for, at most [`LONGEST_TEXT`].
  pub context_size: Option<u32>,
  /// How token vectors become one; default: what the model declares.
  pub pooling: Option<Pooling>,
  /// Threads; default: the physical cores that this process may use.
  pub threads: Option<u32>,
}

/// What was chosen for an embedder.
#[derive(Debug, Clone)]
pub struct EmbedderInfo {
  /// Length of a vector.
  pub dimensions: u32,
  /// Longest text in tokens, special tokens included.
  pub max_tokens: u32,
  /// How token vectors become one.
  pub pooling: Pooling,
  /// Threads that compute.
  pub threads: u32,
}

/// A running embedding context. Clones share it.
#[derive(Clone)]
pub struct Embedder {
  commands: Sender<Command>,
  thread: Arc<Mutex<Option<JoinHandle<()>>>>,
  info: Arc<EmbedderInfo>,
  stop: CancelToken,
}

impl Embedder {
  /// Opens an embedding context.
  ///
  /// # Errors
  /// `UNSUPPORTED` for a model that declares no pooling while none is chosen, `OUT_OF_MEMORY`, `INVALID_INPUT`.
  pub fn open(model: &Model, options: &EmbedderOptions) -> Result<Self> {
    let header = model.header();
    let pooling = pooling(model, options)?;
    let trained = header.context_length.clamp(1, LONGEST_TEXT);
    let max_tokens = options.context_size.unwrap_or(trained);
    if max_tokens == 0 || max_tokens > header.context_length {
      return Err(EngineError::new(
        ErrorCode::InvalidInput,
        format!("contextSize is {max_tokens}: it must be 1 to {}", header.context_length),
      ));
    }
    let tokens = max_tokens.max(SHARED_TOKENS.min(header.context_length));
    let settings = ContextSettings {
      size: tokens,
      sequences: SEQUENCES,
      // Attention in both directions needs the whole text in one micro-batch.
      batch: tokens,
      micro_batch: tokens,
      threads: options.threads.unwrap_or_else(|| hardware::default_threads(&hardware::facts())),
      kv_k: KvType::F16,
      kv_v: KvType::F16,
      flash_attention: FlashAttention::Auto,
      windows: Windows::Full,
      draft_window: 0,
      pooling: Some(to_llama(pooling)),
    };
    let threads = settings.threads;
    let stop = CancelToken::new();
    let context = Context::new(model, settings, stop.clone())?;
    // SAFETY: the model is alive.
    let dimensions = unsafe { sys::llama_model_n_embd_out(model.pointer().as_ptr()) };
    let info = EmbedderInfo { dimensions: dimensions.unsigned_abs(), max_tokens, pooling, threads };
    let (commands, receiver) = mpsc::channel();
    let thread = std::thread::Builder::new()
      .name("embedding".to_owned())
      .spawn(move || run(context, dimensions.unsigned_abs() as usize, &receiver))
      .map_err(|error| {
        EngineError::new(ErrorCode::Internal, format!("no thread could be started: {error}"))
      })?;
    Ok(Self { commands, thread: Arc::new(Mutex::new(Some(thread))), info: Arc::new(info), stop })
  }

  /// What was chosen for the embedder.
  pub fn info(&self) -> &EmbedderInfo {
    &self.info
  }

  /// Queues texts (each at most `max_tokens` tokens); their vectors go to `reply`.
  pub fn submit(&self, texts: Vec<Vec<Token>>, cancel: CancelToken, reply: Reply) {
    if let Err(mpsc::SendError(Command::Embed(job))) =
      self.commands.send(Command::Embed(Job { texts, cancel, reply }))
    {
      (job.reply)(Err(closed()));
    }
  }

  /// Fails what waits with `CLOSED`, waits for the thread and frees the context. Idempotent.
  pub fn close(&self) {
    self.stop.cancel();
    let _ = self.commands.send(Command::Close);
    let thread = lock(&self.thread).take();
    if let Some(thread) = thread {
      // A panicked thread has dropped its replies, which their receivers report.
      let _ = thread.join();
    }
  }
}

fn pooling(model: &Model, options: &EmbedderOptions) -> Result<Pooling> {
  let header = model.header();
  let declared = header.pooling.filter(|pooling| !matches!(pooling, Pooling::None | Pooling::Rank));
  let fallback = (header.kind == ModelKind::Embedding).then_some(Pooling::Mean);
  options.pooling.or(declared).or(fallback).ok_or_else(|| {
    EngineError::new(
      ErrorCode::Unsupported,
      format!(
        "the model (architecture {}) is not an embedding model: choose one, or name a pooling (mean, cls, last) to use \
         its hidden states anyway",
        header.architecture
      ),
    )
  })
}

const fn to_llama(pooling: Pooling) -> sys::llama_pooling_type {
  match pooling {
    Pooling::None => sys::LLAMA_POOLING_TYPE_NONE,
    Pooling::Mean => sys::LLAMA_POOLING_TYPE_MEAN,
    Pooling::Cls => sys::LLAMA_POOLING_TYPE_CLS,
    Pooling::Last => sys::LLAMA_POOLING_TYPE_LAST,
    Pooling::Rank => sys::LLAMA_POOLING_TYPE_RANK,
  }
}
