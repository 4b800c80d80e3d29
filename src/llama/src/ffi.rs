//! Declarations of the shim (`shim/shim.h`) and the translation of its statuses.

use std::ffi::{CStr, CString, c_char};
use std::path::Path;

use llama_cpp_sys_2::{
  llama_batch, llama_context, llama_context_params, llama_logit_bias, llama_model, llama_model_params,
  llama_token, llama_vocab,
};
use local_inference_core::error::{EngineError, ErrorCode, Result};

#[repr(C)]
pub(crate) struct LiError {
  status: i32,
  message: [c_char; 1024],
}

#[repr(C)]
pub(crate) struct LiSampling {
  pub(crate) seed: u32,
  pub(crate) temperature: f32,
  pub(crate) top_p: f32,
  pub(crate) min_p: f32,
  pub(crate) typical_p: f32,
  pub(crate) top_k: i32,
  pub(crate) repetition_penalty: f32,
  pub(crate) frequency_penalty: f32,
  pub(crate) presence_penalty: f32,
  pub(crate) penalty_window: i32,
  pub(crate) dry_multiplier: f32,
  pub(crate) dry_base: f32,
  pub(crate) dry_allowed_length: i32,
  pub(crate) dry_window: i32,
  pub(crate) dry_breakers: *const *const c_char,
  pub(crate) dry_breaker_count: usize,
  pub(crate) xtc_probability: f32,
  pub(crate) xtc_threshold: f32,
  pub(crate) mirostat: i32,
  pub(crate) mirostat_tau: f32,
  pub(crate) mirostat_eta: f32,
  pub(crate) logit_bias: *const llama_logit_bias,
  pub(crate) logit_bias_count: usize,
}

#[repr(C)]
pub(crate) struct LiChat {
  opaque: [u8; 0],
}

#[repr(C)]
pub(crate) struct LiSampler {
  opaque: [u8; 0],
}

pub(crate) const DECODE_THREW: i32 = -1000;

unsafe extern "C" {
  pub(crate) fn li_quiet();
  pub(crate) fn li_model_load(
    path: *const c_char,
    params: llama_model_params,
    error: *mut LiError,
  ) -> *mut llama_model;
  pub(crate) fn li_context_new(
    model: *mut llama_model,
    params: llama_context_params,
    error: *mut LiError,
  ) -> *mut llama_context;
  pub(crate) fn li_fit_params(
    path: *const c_char,
    model_params: *mut llama_model_params,
    context_params: *mut llama_context_params,
    minimum_context: u32,
    error: *mut LiError,
  ) -> i32;
  pub(crate) fn li_tokenize(
    vocab: *const llama_vocab,
    text: *const c_char,
    length: usize,
    out: *mut llama_token,
    capacity: i32,
    add_special: bool,
    parse_special: bool,
    error: *mut LiError,
  ) -> i32;
  pub(crate) fn li_detokenize(
    vocab: *const llama_vocab,
    tokens: *const llama_token,
    count: i32,
    out: *mut c_char,
    capacity: i32,
    unparse_special: bool,
    error: *mut LiError,
  ) -> i32;
  pub(crate) fn li_piece(
    vocab: *const llama_vocab,
    token: llama_token,
    out: *mut c_char,
    capacity: i32,
    special: bool,
    error: *mut LiError,
  ) -> i32;
  pub(crate) fn li_chat_new(
    model: *const llama_model,
    source: *const c_char,
    error: *mut LiError,
  ) -> *mut LiChat;
  pub(crate) fn li_chat_free(chat: *mut LiChat);
  pub(crate) fn li_chat_render(chat: *const LiChat, input: *const c_char, error: *mut LiError)
  -> *mut c_char;
  pub(crate) fn li_string_free(text: *mut c_char);
  pub(crate) fn li_sampler_new(
    model: *const llama_model,
    sampling: *const LiSampling,
    error: *mut LiError,
  ) -> *mut LiSampler;
  pub(crate) fn li_sampler_free(sampler: *mut LiSampler);
  pub(crate) fn li_sampler_seed(sampler: *const LiSampler) -> u32;
  pub(crate) fn li_sampler_history(
    sampler: *mut LiSampler,
    tokens: *const llama_token,
    count: usize,
    error: *mut LiError,
  );
  pub(crate) fn li_sampler_sample(
    sampler: *mut LiSampler,
    context: *mut llama_context,
    row: i32,
    ban_end: bool,
    error: *mut LiError,
  ) -> llama_token;
  pub(crate) fn li_sampler_propose(
    sampler: *mut LiSampler,
    context: *mut llama_context,
    row: i32,
    ban_end: bool,
    greedy: bool,
    mask: *const u32,
    words: usize,
    error: *mut LiError,
  ) -> llama_token;
  pub(crate) fn li_sampler_accept(sampler: *mut LiSampler, token: llama_token, error: *mut LiError);
  pub(crate) fn li_decode(context: *mut llama_context, batch: llama_batch, error: *mut LiError) -> i32;
}

impl LiError {
  pub(crate) const fn new() -> Self {
    Self { status: 0, message: [0; 1024] }
  }

  /// The failure that the shim reported, as `what: reason`; None after success.
  pub(crate) fn take(&self, what: &str) -> Option<EngineError> {
    let code = match self.status {
      0 => return None,
      2 => ErrorCode::OutOfMemory,
      3 => ErrorCode::TemplateInvalid,
      5 => ErrorCode::InvalidInput,
      _ => ErrorCode::Internal,
    };
    // SAFETY: the shim writes a NUL-terminated string with snprintf; `new` starts with an empty one.
    let message = unsafe { CStr::from_ptr(self.message.as_ptr()) }.to_string_lossy();
    Some(EngineError::new(code, format!("{what}: {message}")))
  }

  pub(crate) fn check(&self, what: &str) -> Result<()> {
    self.take(what).map_or(Ok(()), Err)
  }
}

/// A C string; text with a NUL inside is bad input.
pub(crate) fn c_string(what: &str, text: &str) -> Result<CString> {
  CString::new(text)
    .map_err(|_| EngineError::new(ErrorCode::InvalidInput, format!("{what} contains a NUL character")))
}

/// `path` as llama.cpp takes it.
pub(crate) fn c_path(path: &Path) -> Result<CString> {
  let text = path.to_str().ok_or_else(|| {
    EngineError::new(ErrorCode::InvalidInput, format!("{} is not valid UTF-8", path.display()))
  })?;
  c_string("the path", text)
}
