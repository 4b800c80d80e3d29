//! An embedding context with the thread that owns it: texts of waiting callers share decodes.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use llama_cpp_sys_2 as sys;
use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::{BatchToken, Decoded, Token};
use local_inference_core::embed::pack;
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::fit::{KvType, Windows};
use local_inference_core::gguf::{ModelKind, Pooling};
use local_inference_core::hardware;
use local_inference_core::options::FlashAttention;

use crate::context::{Context, ContextSettings};
use crate::model::Model;
use crate::threads::Active;

/// Texts that share one decode at most.
const SEQUENCES: u32 = 64;
/// Longest text by default, in tokens.
const LONGEST_TEXT: u32 = 2048;
/// Tokens up to which texts share a decode: attention is computed over the whole batch, so larger ones waste work.
const SHARED_TOKENS: u32 = 512;

/// Where the vectors of a request go, one a text, not normalised.
pub type Reply = Box<dyn FnOnce(Result<Vec<Vec<f32>>>) + Send>;

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

/// What an embedder turned out to be.
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

struct Job {
  texts: Vec<Vec<Token>>,
  cancel: CancelToken,
  reply: Reply,
}

enum Command {
  Embed(Job),
  Close,
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

  /// What the embedder turned out to be.
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
    let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(thread) = thread {
      // A panicked thread has dropped its replies, which their receivers report.
      let _ = thread.join();
    }
  }
}

fn closed() -> EngineError {
  EngineError::new(ErrorCode::Closed, "the embedder was closed")
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

/// The embedder's thread: takes every waiting job and packs their texts into common decodes.
fn run(mut context: Context, dimensions: usize, commands: &Receiver<Command>) {
  'running: loop {
    let mut jobs = Vec::new();
    let mut next = commands.recv().ok();
    loop {
      match next {
        Some(Command::Embed(job)) => jobs.push(job),
        Some(Command::Close) => {
          for job in jobs {
            (job.reply)(Err(closed()));
          }
          break 'running;
        }
        None => break,
      }
      next = commands.try_recv().ok();
    }
    if jobs.is_empty() {
      break;
    }
    work(&mut context, dimensions, jobs);
  }
  while let Ok(Command::Embed(job)) = commands.try_recv() {
    (job.reply)(Err(closed()));
  }
}

fn work(context: &mut Context, dimensions: usize, jobs: Vec<Job>) {
  let _active = Active::begin();
  let places: Vec<(usize, usize)> =
    jobs.iter().enumerate().flat_map(|(job, it)| (0..it.texts.len()).map(move |text| (job, text))).collect();
  let lengths: Vec<usize> = places.iter().map(|&(job, text)| jobs[job].texts[text].len()).collect();
  let mut outcomes: Vec<Result<Vec<Vec<f32>>>> =
    jobs.iter().map(|job| Ok(vec![Vec::new(); job.texts.len()])).collect();
  for group in pack(&lengths, SHARED_TOKENS.min(context.settings().batch) as usize, SEQUENCES as usize) {
    let alive: Vec<_> = group
      .into_iter()
      .map(|index| places[index])
      .filter(|&(job, _)| !jobs[job].cancel.is_cancelled())
      .collect();
    if alive.is_empty() {
      continue;
    }
    let texts: Vec<&[Token]> = alive.iter().map(|&(job, text)| jobs[job].texts[text].as_slice()).collect();
    let interrupt = || alive.iter().all(|&(job, _)| jobs[job].cancel.is_cancelled());
    let vectors = embed(context, &texts, dimensions, &interrupt);
    for (index, &(job, text)) in alive.iter().enumerate() {
      match (&vectors, &mut outcomes[job]) {
        (Ok(vectors), Ok(results)) => results[text].clone_from(&vectors[index]),
        (Err(error), outcome) => *outcome = Err(error.clone()),
        (Ok(_), Err(_)) => {}
      }
    }
  }
  for (job, outcome) in jobs.into_iter().zip(outcomes) {
    let cancelled = job.cancel.is_cancelled();
    (job.reply)(if cancelled {
      Err(EngineError::new(ErrorCode::Cancelled, "embedding was cancelled"))
    } else {
      outcome
    });
  }
}

/// One decode; one vector a text.
fn embed(
  context: &mut Context,
  texts: &[&[Token]],
  dimensions: usize,
  interrupt: &dyn Fn() -> bool,
) -> Result<Vec<Vec<f32>>> {
  context.clear_all();
  let batch: Vec<BatchToken> = texts
    .iter()
    .zip(0_i32..)
    .flat_map(|(tokens, sequence)| {
      tokens.iter().zip(0_i32..).map(move |(&token, position)| BatchToken {
        token,
        position,
        sequence,
        logits: true,
      })
    })
    .collect();
  if context.evaluate(&batch, interrupt)? == Decoded::Interrupted {
    // Either every caller has cancelled, which `work` reports as such, or the embedder is being closed.
    return Err(closed());
  }
  (0_i32..)
    .zip(texts)
    .map(|(sequence, _)| {
      // SAFETY: the context is alive; pooled vectors of the last decode have `dimensions` floats.
      let vector = unsafe {
        let pointer = sys::llama_get_embeddings_seq(context.pointer().as_ptr(), sequence);
        if pointer.is_null() {
          return Err(EngineError::new(ErrorCode::DecodeFailed, "llama.cpp returned no embedding"));
        }
        std::slice::from_raw_parts(pointer, dimensions)
      };
      Ok(vector.to_vec())
    })
    .collect()
}
