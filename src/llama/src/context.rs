//! A llama.cpp context as the scheduler's decoder.

mod batch;
mod decoder;
mod memory;

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;

use llama_cpp_sys_2 as sys;
use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::{BatchToken, Decoded};
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::fit::{KvType, Windows};
use local_inference_core::options::FlashAttention;
use local_inference_core::speculate::{Problem, Unusable};

use crate::draft::{DraftModel, Drafter};
use crate::ffi::{DECODE_THREW, LiError, li_context_new, li_decode};
use crate::log;
use crate::model::Model;
use crate::threads;
use batch::RawBatch;

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
  pub(crate) windows: Windows,
  /// Drafted tokens of a sequence that a decode may verify.
  pub(crate) draft_window: u32,
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
  drafter: Option<Drafter>,
  model: Model,
}

// SAFETY: a context may move between threads; it is never shared.
unsafe impl Send for Context {}

impl Drop for Context {
  fn drop(&mut self) {
    // It shares the KV cache.
    self.drafter = None;
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
    Ok(Self { pointer, abort, batch, settings, window, recurrent, drafter: None, model: model.clone() })
  }

  /// Drafts with `drafter` from now on. Must come before anything is evaluated.
  pub(crate) fn attach(&mut self, drafter: DraftModel) -> Result<(), Unusable> {
    if self.recurrent {
      let reason = "the model keeps a recurrent state, which cannot be taken back after a wrong draft";
      return Err(Unusable::new(Problem::Unsupported, reason));
    }
    let most = self.settings.draft_window.max(1) as usize;
    // SAFETY: the drafter is dropped before the context, which is new.
    self.drafter = Some(unsafe { Drafter::open(self.pointer, to_params(&self.settings), drafter, most)? });
    Ok(())
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
  params.swa_full = settings.windows == Windows::Full;
  params.no_perf = true;
  if let Some(pooling) = settings.pooling {
    params.embeddings = true;
    params.pooling_type = pooling;
  } else {
    // The scheduler asks for one row of logits per sequence, and one per drafted token; llama.cpp would reserve one for
    // every token of a batch.
    params.n_outputs_max = (settings.sequences * (1 + settings.draft_window)).min(settings.batch);
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
    let threads = threads::share(self.settings.threads).cast_signed();
    // SAFETY: the context is alive; the numbers count from the next decode on.
    unsafe { sys::llama_set_n_threads(self.pointer.as_ptr(), threads, threads) };
    let batch = self.batch.fill(tokens);
    let mut error = LiError::new();
    // SAFETY: the closure is only reachable while this frame is alive: the cell is emptied before it returns.
    let interrupt: *const Interrupt<'static> = std::ptr::from_ref(&interrupt).cast();
    self.abort.interrupt.set(Some(interrupt));
    log::forget();
    // SAFETY: the batch's arrays are alive and as long as it says.
    let outcome = unsafe { li_decode(self.pointer.as_ptr(), batch, &raw mut error) };
    self.abort.interrupt.set(None);
    log::expect_complaints(false);
    match outcome {
      0 => {
        if let Some(drafter) = &mut self.drafter {
          drafter.follow(tokens, batch, threads);
        }
        Ok(Decoded::Complete)
      }
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
        self.clear_sequence(token.sequence);
      }
    }
  }
}
