//! A llama.cpp context as the scheduler's decoder.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;

use llama_cpp_sys_2 as sys;
use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::{BatchToken, Decoded, Decoder, Sampled, SequenceId, Token};
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::fit::KvType;
use local_inference_core::options::{FlashAttention, GenerateOptions};

use crate::ffi::{DECODE_THREW, LiError, li_context_new, li_decode};
use crate::log;
use crate::model::Model;
use crate::sample::Sampler;

/// Settings of a context, all decided.
#[derive(Debug, Clone)]
pub(crate) struct ContextSettings {
  pub(crate) size: u32,
  pub(crate) sequences: u32,
  pub(crate) batch: u32,
  pub(crate) micro_batch: u32,
  pub(crate) threads: u32,
  pub(crate) kv_k: KvType,
  pub(crate) kv_v: KvType,
  pub(crate) flash_attention: FlashAttention,
  /// Pooling of an embedding context; None for a context that generates.
  pub(crate) pooling: Option<sys::llama_pooling_type>,
}

type Interrupt<'a> = &'a dyn Fn() -> bool;

/// What llama.cpp's abort callback asks while a decode runs.
struct AbortState {
  interrupt: Cell<Option<*const Interrupt<'static>>>,
  /// Set when the context is to be closed.
  stop: CancelToken,
}

/// A context with its KV cache. Used by one thread at a time.
pub(crate) struct Context {
  pointer: NonNull<sys::llama_context>,
  abort: Box<AbortState>,
  batch: RawBatch,
  settings: ContextSettings,
  /// Attention window of sliding-window layers; 0 without them.
  window: i32,
  /// Recurrent state cannot be taken back position by position.
  recurrent: bool,
  model: Model,
}

// SAFETY: a context may move between threads; it is never shared.
unsafe impl Send for Context {}

impl Drop for Context {
  fn drop(&mut self) {
    // SAFETY: created by li_context_new, freed once, before the model that it refers to.
    unsafe { sys::llama_free(self.pointer.as_ptr()) }
  }
}

unsafe extern "C" fn on_abort_poll(data: *mut c_void) -> bool {
  // SAFETY: `data` is the boxed state, which outlives the context; the closure is set only while `decode` runs.
  unsafe {
    let state = &*data.cast::<AbortState>();
    let interrupted =
      state.stop.is_cancelled() || state.interrupt.get().is_some_and(|interrupt| (*interrupt)());
    if interrupted {
      log::expect_complaints(true);
    }
    interrupted
  }
}

impl Context {
  /// A context whose decodes end early once `stop` is set.
  pub(crate) fn new(model: &Model, settings: ContextSettings, stop: CancelToken) -> Result<Self> {
    let abort = Box::new(AbortState { interrupt: Cell::new(None), stop });
    let mut params = to_params(&settings);
    params.abort_callback = Some(on_abort_poll);
    params.abort_callback_data = std::ptr::from_ref(&*abort).cast_mut().cast();
    log::forget();
    let mut error = LiError::new();
    // SAFETY: the model is alive (we hold a clone); the abort state is boxed and dropped after the context.
    let pointer = unsafe { li_context_new(model.pointer().as_ptr(), params, &raw mut error) };
    let Some(pointer) = NonNull::new(pointer) else {
      return Err(context_error(&error, &settings));
    };
    // SAFETY: the model is alive.
    let (window, recurrent) = unsafe {
      let model = model.pointer().as_ptr();
      (
        sys::llama_model_n_swa(model),
        sys::llama_model_is_recurrent(model) || sys::llama_model_is_hybrid(model),
      )
    };
    let batch = RawBatch::with_capacity(settings.batch as usize);
    Ok(Self { pointer, abort, batch, settings, window, recurrent, model: model.clone() })
  }

  pub(crate) fn settings(&self) -> &ContextSettings {
    &self.settings
  }

  pub(crate) fn pointer(&self) -> NonNull<sys::llama_context> {
    self.pointer
  }

  /// Tokens that all sequences together hold; llama.cpp may round the size up.
  pub(crate) fn size(&self) -> u32 {
    // SAFETY: the context is alive, here and below.
    unsafe { sys::llama_n_ctx(self.pointer.as_ptr()) }
  }

  fn memory(&self) -> sys::llama_memory_t {
    // SAFETY: as above; null for models without memory, which llama_memory_* accept.
    unsafe { sys::llama_get_memory(self.pointer.as_ptr()) }
  }

  /// Removes every position of every sequence.
  pub(crate) fn clear_all(&mut self) {
    let memory = self.memory();
    if !memory.is_null() {
      // SAFETY: the memory belongs to this context.
      unsafe { sys::llama_memory_clear(memory, false) }
    }
  }
}

fn to_params(settings: &ContextSettings) -> sys::llama_context_params {
  // SAFETY: returns a plain struct.
  let mut params = unsafe { sys::llama_context_default_params() };
  params.n_ctx = settings.size;
  params.n_batch = settings.batch;
  params.n_ubatch = settings.micro_batch;
  params.n_seq_max = settings.sequences;
  params.n_threads = settings.threads.cast_signed();
  params.n_threads_batch = settings.threads.cast_signed();
  params.type_k = ggml_type(settings.kv_k);
  params.type_v = ggml_type(settings.kv_v);
  params.flash_attn_type = match settings.flash_attention {
    FlashAttention::Auto => sys::LLAMA_FLASH_ATTN_TYPE_AUTO,
    FlashAttention::On => sys::LLAMA_FLASH_ATTN_TYPE_ENABLED,
    FlashAttention::Off => sys::LLAMA_FLASH_ATTN_TYPE_DISABLED,
  };
  params.kv_unified = true;
  params.no_perf = true;
  if let Some(pooling) = settings.pooling {
    params.embeddings = true;
    params.pooling_type = pooling;
  }
  params
}

fn ggml_type(kind: KvType) -> sys::ggml_type {
  match kind {
    KvType::F32 => sys::GGML_TYPE_F32,
    KvType::F16 => sys::GGML_TYPE_F16,
    KvType::Bf16 => sys::GGML_TYPE_BF16,
    KvType::Q8_0 => sys::GGML_TYPE_Q8_0,
    KvType::Q5_1 => sys::GGML_TYPE_Q5_1,
    KvType::Q5_0 => sys::GGML_TYPE_Q5_0,
    KvType::Q4_1 => sys::GGML_TYPE_Q4_1,
    KvType::Q4_0 => sys::GGML_TYPE_Q4_0,
    KvType::Iq4Nl => sys::GGML_TYPE_IQ4_NL,
  }
}

fn context_error(error: &LiError, settings: &ContextSettings) -> EngineError {
  if let Some(error) = error.take("llama.cpp failed to create the context") {
    return error;
  }
  let reason = log::complaints();
  let code = if reason.contains("alloc") || reason.contains("memory") {
    ErrorCode::OutOfMemory
  } else {
    ErrorCode::Unsupported
  };
  EngineError::new(
    code,
    format!(
      "a context of {} tokens with a {}/{} KV cache cannot be created: {reason}",
      settings.size,
      settings.kv_k.as_str(),
      settings.kv_v.as_str()
    ),
  )
}

impl Context {
  /// Evaluates `tokens`, polling `interrupt`.
  pub(crate) fn evaluate(&mut self, tokens: &[BatchToken], interrupt: Interrupt) -> Result<Decoded> {
    let batch = self.batch.fill(tokens);
    let mut error = LiError::new();
    // SAFETY: the closure is only reachable while this frame is alive: the cell is emptied before it returns.
    let interrupt: *const Interrupt<'static> = std::ptr::from_ref(&interrupt).cast();
    self.abort.interrupt.set(Some(interrupt));
    // SAFETY: the batch's arrays are alive and as long as it says.
    let outcome = unsafe { li_decode(self.pointer.as_ptr(), batch, &raw mut error) };
    self.abort.interrupt.set(None);
    log::expect_complaints(false);
    match outcome {
      0 => Ok(Decoded::Complete),
      2 => {
        self.forget_unfinished(tokens);
        Ok(Decoded::Interrupted)
      }
      1 => Err(EngineError::new(
        ErrorCode::ContextOverflow,
        "the KV cache has no room for the batch: use fewer sequences or a larger context",
      )),
      DECODE_THREW => Err(
        error
          .take("llama.cpp failed to decode")
          .unwrap_or_else(|| EngineError::new(ErrorCode::DecodeFailed, "llama.cpp failed to decode")),
      ),
      code => Err(EngineError::new(
        ErrorCode::DecodeFailed,
        format!("llama.cpp failed to decode (status {code}): {}", log::complaints()),
      )),
    }
  }
}

impl Context {
  /// llama.cpp takes the positions of an interrupted micro-batch out of a KV cache, but cannot take them out of a
  /// recurrent state: there the whole sequence starts again.
  fn forget_unfinished(&mut self, tokens: &[BatchToken]) {
    if self.recurrent {
      for token in tokens {
        self.clear(token.sequence);
      }
    }
  }
}

impl Decoder for Context {
  type Sampler = Sampler;

  fn batch_size(&self) -> usize {
    self.settings.batch as usize
  }

  fn context_size(&self) -> usize {
    self.size() as usize
  }

  fn sampler(&self, options: &GenerateOptions, prompt: &[Token]) -> Result<Sampler> {
    Sampler::new(&self.model, options, prompt, self.size().cast_signed())
  }

  fn seed(&self, sampler: &Sampler) -> u32 {
    sampler.seed()
  }

  fn decode(&mut self, batch: &[BatchToken], interrupt: &dyn Fn() -> bool) -> Result<Decoded> {
    self.evaluate(batch, interrupt)
  }

  fn sample(&mut self, sampler: &mut Sampler, row: usize, ban_end: bool) -> Result<Sampled> {
    sampler.sample(self.pointer, i32::try_from(row).unwrap_or(i32::MAX), ban_end)
  }

  fn piece(&self, sampler: &Sampler, token: Token, out: &mut Vec<u8>) {
    self.model.vocabulary().piece(token, sampler.preserves(token), out);
  }

  fn is_end(&self, token: Token) -> bool {
    self.model.vocabulary().is_end(token)
  }

  fn rewind(&mut self, sequence: SequenceId, from: usize) -> bool {
    let length = self.length(sequence);
    if from >= length {
      return from == length;
    }
    let Ok(from) = i32::try_from(from) else { return false };
    if self.recurrent {
      return false;
    }
    // SAFETY: the memory belongs to this context.
    let oldest = unsafe { sys::llama_memory_seq_pos_min(self.memory(), sequence) };
    // A sliding-window cache forgets old positions; going back further than it remembers succeeds and is wrong.
    if oldest > 0 && from - self.window < oldest {
      return false;
    }
    // SAFETY: as above.
    unsafe { sys::llama_memory_seq_rm(self.memory(), sequence, from, -1) }
  }

  fn clear(&mut self, sequence: SequenceId) {
    // SAFETY: as above.
    unsafe { sys::llama_memory_seq_rm(self.memory(), sequence, -1, -1) };
  }

  fn length(&self, sequence: SequenceId) -> usize {
    // SAFETY: as above.
    let last = unsafe { sys::llama_memory_seq_pos_max(self.memory(), sequence) };
    usize::try_from(last + 1).unwrap_or(0)
  }
}

/// The arrays behind a `llama_batch`, kept between decodes.
struct RawBatch {
  tokens: Vec<Token>,
  positions: Vec<i32>,
  sequence_counts: Vec<i32>,
  sequences: Vec<SequenceId>,
  sequence_pointers: Vec<*mut SequenceId>,
  logits: Vec<i8>,
}

impl RawBatch {
  fn with_capacity(capacity: usize) -> Self {
    Self {
      tokens: Vec::with_capacity(capacity),
      positions: Vec::with_capacity(capacity),
      sequence_counts: Vec::with_capacity(capacity),
      sequences: Vec::with_capacity(capacity),
      sequence_pointers: Vec::with_capacity(capacity),
      logits: Vec::with_capacity(capacity),
    }
  }

  /// A batch over `tokens`; valid until the next call.
  fn fill(&mut self, tokens: &[BatchToken]) -> sys::llama_batch {
    self.tokens.clear();
    self.tokens.extend(tokens.iter().map(|token| token.token));
    self.positions.clear();
    self.positions.extend(tokens.iter().map(|token| token.position));
    self.sequence_counts.clear();
    self.sequence_counts.resize(tokens.len(), 1);
    self.sequences.clear();
    self.sequences.extend(tokens.iter().map(|token| token.sequence));
    self.sequence_pointers.clear();
    self.sequence_pointers.extend(self.sequences.iter_mut().map(std::ptr::from_mut));
    self.logits.clear();
    self.logits.extend(tokens.iter().map(|token| i8::from(token.logits)));
    sys::llama_batch {
      n_tokens: i32::try_from(tokens.len()).unwrap_or(i32::MAX),
      token: self.tokens.as_mut_ptr(),
      embd: std::ptr::null_mut(),
      pos: self.positions.as_mut_ptr(),
      n_seq_id: self.sequence_counts.as_mut_ptr(),
      seq_id: self.sequence_pointers.as_mut_ptr(),
      logits: self.logits.as_mut_ptr(),
    }
  }
}
