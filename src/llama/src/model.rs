//! A loaded model: weights, vocabulary and chat template, shared by everything that uses them.

use std::collections::HashMap;
use std::ffi::c_void;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use llama_cpp_sys_2 as sys;
use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::Token;
use local_inference_core::embed::Specials;
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::gguf::{GgufHeader, ModelKind};
use local_inference_core::grammar::GrammarEngine;
use local_inference_core::options::LoadOptions;
use local_inference_core::speculate::own_heads;
use local_inference_core::sync::lock;
use local_inference_core::{fit, hardware};

use crate::backend;
use crate::chat::ChatTemplate;
use crate::ffi::{LiError, c_path, li_fit_params, li_model_load};
use crate::log;
use crate::tokens::Vocabulary;

/// A model's grammar engine, or why there is none.
type GrammarSlot = OnceLock<Result<GrammarEngine>>;

/// Weights in memory. Clones share them; the last one frees them.
#[derive(Clone)]
pub struct Model(Arc<Inner>);

struct Inner {
  pointer: NonNull<sys::llama_model>,
  vocabulary: Vocabulary,
  header: GgufHeader,
  /// Its multi-token-prediction heads are in memory.
  heads: bool,
  /// Parsed templates by source; without one it is the model's own.
  templates: Mutex<HashMap<Option<String>, Arc<ChatTemplate>>>,
  /// Made for the first constraint.
  grammars: GrammarSlot,
}

// SAFETY: llama.cpp allows a model to be used from several threads; it is immutable after loading.
unsafe impl Send for Inner {}
// SAFETY: as above; the templates are behind a mutex.
unsafe impl Sync for Inner {}

impl Drop for Inner {
  fn drop(&mut self) {
    // Templates may hold on to the vocabulary.
    self.templates.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    // SAFETY: contexts and samplers hold a `Model`, so none is left.
    unsafe { sys::llama_model_free(self.pointer.as_ptr()) }
  }
}

struct Progress<'a> {
  report: &'a dyn Fn(f32),
  cancel: &'a CancelToken,
}

unsafe extern "C" fn on_progress(progress: f32, data: *mut c_void) -> bool {
  // SAFETY: `data` is the `Progress` on the stack of the load that calls us.
  let progress_state = unsafe { &*data.cast::<Progress>() };
  (progress_state.report)(progress);
  !progress_state.cancel.is_cancelled()
}

impl Model {
  /// Loads the GGUF at `path` (the first file of a split model). `progress` receives 0 to 1.
  ///
  /// # Errors
  /// `MODEL_NOT_FOUND`, `MODEL_INVALID`, `MODEL_UNSUPPORTED` from the header check, `OUT_OF_MEMORY` when the weights do
  /// not fit, `CANCELLED`, `BACKEND_UNAVAILABLE`.
  pub fn load(
    path: &Path,
    options: &LoadOptions,
    progress: &dyn Fn(f32),
    cancel: &CancelToken,
  ) -> Result<Self> {
    backend::get()?;
    options.validate()?;
    let header = GgufHeader::read(path)?;
    header.check_architecture()?;
    if !options.ignore_memory_limit {
      check_memory(&header, options)?;
    }
    let state = Progress { report: progress, cancel };
    let mut params = model_params(&header, options, &state);
    let c_path = c_path(path)?;
    if options.gpu_layers < 0 && backend::has_gpu() {
      fit_to_devices(&c_path, &mut params)?;
    }
    log::forget();
    let mut error = LiError::new();
    // SAFETY: the path and everything `params` points to outlive the call.
    let loaded = unsafe { li_model_load(c_path.as_ptr(), params, &raw mut error) };
    let Some(pointer) = NonNull::new(loaded) else {
      return Err(load_error(path, &error, cancel));
    };
    // SAFETY: the model is alive as long as `Inner`, which owns both.
    let vocabulary = unsafe { Vocabulary::of(pointer) }.inspect_err(|_| {
      // SAFETY: nothing else refers to the model yet.
      unsafe { sys::llama_model_free(pointer.as_ptr()) }
    })?;
    Ok(Self(Arc::new(Inner {
      pointer,
      vocabulary,
      heads: params.load_mtp,
      header,
      templates: Mutex::default(),
      grammars: GrammarSlot::new(),
    })))
  }

  /// Facts of the GGUF header.
  pub fn header(&self) -> &GgufHeader {
    &self.0.header
  }

  /// Whether its multi-token-prediction heads are in memory.
  pub fn has_heads(&self) -> bool {
    self.0.heads
  }

  /// Tokens in the vocabulary.
  pub fn vocabulary_size(&self) -> u32 {
    self.0.vocabulary.len()
  }

  /// Tokens of `text`; see [`Model::detokenize`] for the inverse. `add_special` adds the begin and end tokens that the
  /// model asks for, `parse_special` reads special tokens written in the text.
  pub fn tokenize(&self, text: &str, add_special: bool, parse_special: bool) -> Result<Vec<Token>> {
    self.0.vocabulary.tokenize(text, add_special, parse_special)
  }

  /// Text of `tokens`; control tokens are written out only with `special`.
  pub fn detokenize(&self, tokens: &[Token], special: bool) -> Result<String> {
    self.0.vocabulary.detokenize(tokens, special)
  }

  /// The text of one token as a reader would see it, control tokens included.
  pub fn token_text(&self, token: Token) -> String {
    let mut bytes = Vec::new();
    self.0.vocabulary.piece(token, true, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
  }

  /// Tokens that frame a text.
  pub fn specials(&self) -> Specials {
    self.0.vocabulary.specials()
  }

  /// The chat template, parsed once: the model's own, or `source`.
  pub fn chat_template(&self, source: Option<&str>) -> Result<Arc<ChatTemplate>> {
    let key = source.map(str::to_owned);
    let mut templates = lock(&self.0.templates);
    if let Some(template) = templates.get(&key) {
      return Ok(Arc::clone(template));
    }
    let own = self.header().chat_template.as_deref();
    // SAFETY: the model is alive.
    let template = Arc::new(unsafe { ChatTemplate::parse(self.pointer(), source, own) }?);
    templates.insert(key, Arc::clone(&template));
    Ok(template)
  }

  pub(crate) fn pointer(&self) -> NonNull<sys::llama_model> {
    self.0.pointer
  }

  pub(crate) fn grammar_slot(&self) -> &GrammarSlot {
    &self.0.grammars
  }

  pub(crate) fn vocabulary(&self) -> Vocabulary {
    self.0.vocabulary
  }
}

fn model_params(header: &GgufHeader, options: &LoadOptions, progress: &Progress) -> sys::llama_model_params {
  // SAFETY: returns a plain struct.
  let mut params = unsafe { sys::llama_model_default_params() };
  params.n_gpu_layers = options.gpu_layers;
  params.load_mode = match (options.use_mlock, options.use_mmap) {
    (true, _) => sys::LLAMA_LOAD_MODE_MLOCK,
    (false, true) => sys::LLAMA_LOAD_MODE_MMAP,
    (false, false) => sys::LLAMA_LOAD_MODE_NONE,
  };
  params.check_tensors = options.check_tensors;
  params.load_mtp = options.heads && own_heads(header).is_ok();
  params.vocab_only = header.kind == ModelKind::Vocabulary;
  params.progress_callback = Some(on_progress);
  params.progress_callback_user_data = std::ptr::from_ref(progress).cast_mut().cast();
  params
}

/// Refuses weights that cannot become resident: with mmap they would thrash, without it the process would be killed.
fn check_memory(header: &GgufHeader, options: &LoadOptions) -> Result<()> {
  let facts = hardware::facts();
  let headroom = options.memory_headroom.unwrap_or_else(|| fit::default_headroom(facts.memory_total));
  let available = facts.memory_available.saturating_add(backend::device_memory());
  if header.weight_bytes.saturating_add(headroom) <= available {
    return Ok(());
  }
  let mib = |bytes: u64| bytes >> 20;
  Err(EngineError::new(
    ErrorCode::OutOfMemory,
    format!(
      "the weights take {} MiB, {} MiB of memory are available and {} MiB are kept free: {} MiB are missing; use a \
       smaller model or quantisation, or free memory",
      mib(header.weight_bytes),
      mib(available),
      mib(headroom),
      mib(header.weight_bytes.saturating_add(headroom) - available).max(1),
    ),
  ))
}

/// Chooses the layer split by llama.cpp's own fit, which knows each device's buffers.
fn fit_to_devices(path: &std::ffi::CStr, params: &mut sys::llama_model_params) -> Result<()> {
  const MINIMUM_CONTEXT: u32 = 4096;
  // SAFETY: returns a plain struct.
  let mut context = unsafe { sys::llama_context_default_params() };
  let mut error = LiError::new();
  // The fit loads without weights; its progress is not the caller's.
  let callback = params.progress_callback.take();
  // SAFETY: the structs outlive the call.
  let _status =
    unsafe { li_fit_params(path.as_ptr(), params, &raw mut context, MINIMUM_CONTEXT, &raw mut error) };
  params.progress_callback = callback;
  // "Does not fit" leaves the defaults, and the load itself then says what is missing.
  error.check("the layers could not be fitted to the devices")
}

fn load_error(path: &Path, error: &LiError, cancel: &CancelToken) -> EngineError {
  if cancel.is_cancelled() {
    return EngineError::new(ErrorCode::Cancelled, "loading was cancelled");
  }
  if let Some(error) = error.take("llama.cpp failed to load the model") {
    return error;
  }
  let reason = log::complaints();
  // A fallback: what the header tells was refused before the load.
  let code = if reason.contains("unknown model architecture") || reason.contains("unknown pre-tokenizer type")
  {
    ErrorCode::ModelUnsupported
  } else if reason.contains("allocate") || reason.contains("out of memory") {
    ErrorCode::OutOfMemory
  } else {
    ErrorCode::ModelInvalid
  };
  EngineError::new(code, format!("{}: llama.cpp could not load the model: {reason}", path.display()))
}
