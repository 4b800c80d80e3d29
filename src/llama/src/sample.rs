//! One request's sampler.

mod logprobs;
mod raw;

use std::collections::HashSet;
use std::ffi::CString;
use std::ptr::NonNull;

use llama_cpp_sys_2 as sys;
use local_inference_core::decoder::{Among, Drafted, Sampled, Token};
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::grammar::TokenMask;
use local_inference_core::options::{GenerateOptions, SamplingOptions};

use crate::constraint;
use crate::draft::Drafter;
use crate::ffi::{
  LiError, LiSampler, c_string, li_sampler_accept, li_sampler_free, li_sampler_history, li_sampler_new,
  li_sampler_propose, li_sampler_sample, li_sampler_seed,
};
use crate::model::Model;
use logprobs::log_probabilities;
use raw::to_raw;

/// llama.cpp's common sampler for one request.
pub(crate) struct Sampler {
  pointer: NonNull<LiSampler>,
  /// Control tokens whose text belongs to the answer.
  preserved: HashSet<Token>,
  logprobs: Option<u32>,
  /// The model's own logits of the row in hand, when log probabilities are asked for.
  logits: Vec<f32>,
  biased: bool,
  /// Keeps the vocabulary alive.
  model: Model,
}

// SAFETY: owned by one request and used by the thread that runs it.
unsafe impl Send for Sampler {}

impl Drop for Sampler {
  fn drop(&mut self) {
    // SAFETY: created by li_sampler_new, freed once.
    unsafe { li_sampler_free(self.pointer.as_ptr()) }
  }
}

impl Sampler {
  pub(crate) fn new(
    model: &Model,
    options: &GenerateOptions,
    prompt: &[Token],
    context_size: i32,
  ) -> Result<Self> {
    let sampling = &options.sampling;
    let breakers: Vec<CString> = sampling
      .dry
      .sequence_breakers
      .iter()
      .map(|text| c_string("a DRY sequence breaker", text))
      .collect::<Result<_>>()?;
    let breaker_pointers: Vec<_> = breakers.iter().map(|text| text.as_ptr()).collect();
    let biases: Vec<_> =
      sampling.logit_bias.iter().map(|&(token, bias)| sys::llama_logit_bias { token, bias }).collect();
    let mut raw = to_raw(sampling);
    // llama.cpp no longer reads -1 as "the whole context": it would switch the sampler off.
    let whole = |window: i32| if window < 0 { context_size } else { window };
    raw.penalty_window = whole(sampling.penalty_window);
    raw.dry_window = whole(sampling.dry.window);
    raw.dry_breakers = breaker_pointers.as_ptr();
    raw.dry_breaker_count = breaker_pointers.len();
    raw.logit_bias = biases.as_ptr();
    raw.logit_bias_count = biases.len();

    let mut error = LiError::new();
    // SAFETY: everything `raw` points to lives until the end of this function.
    let pointer = unsafe { li_sampler_new(model.pointer().as_ptr(), &raw const raw, &raw mut error) };
    let Some(pointer) = NonNull::new(pointer) else {
      let failed = || EngineError::new(ErrorCode::Internal, "the sampler cannot be created");
      return Err(error.take("the sampler cannot be created").unwrap_or_else(failed));
    };
    let sampler = Self {
      pointer,
      preserved: preserved(model, options)?,
      logprobs: options.logprobs,
      logits: Vec::new(),
      biased: !sampling.logit_bias.is_empty(),
      model: model.clone(),
    };
    sampler.remember(prompt, sampling)?;
    Ok(sampler)
  }

  /// Penalties look back into the prompt, as llama.cpp's server does.
  fn remember(&self, prompt: &[Token], sampling: &SamplingOptions) -> Result<()> {
    let window = |length: i32| usize::try_from(length).unwrap_or(prompt.len());
    let repetition = (sampling.repetition_penalty - 1.0).abs() > f32::EPSILON
      || sampling.frequency_penalty.abs() > f32::EPSILON
      || sampling.presence_penalty.abs() > f32::EPSILON;
    let mut wanted = 0;
    if repetition {
      wanted = window(sampling.penalty_window);
    }
    if sampling.dry.multiplier > 0.0 {
      wanted = wanted.max(window(sampling.dry.window));
    }
    let history = &prompt[prompt.len() - wanted.min(prompt.len())..];
    let mut error = LiError::new();
    // SAFETY: the slice is passed with its length; tokens come from this vocabulary.
    unsafe {
      li_sampler_history(self.pointer.as_ptr(), history.as_ptr(), history.len(), &raw mut error);
    }
    error.check("the prompt cannot be remembered")
  }

  pub(crate) fn seed(&self) -> u32 {
    // SAFETY: the handle is alive.
    unsafe { li_sampler_seed(self.pointer.as_ptr()) }
  }

  pub(crate) fn preserves(&self, token: Token) -> bool {
    self.preserved.contains(&token)
  }

  pub(crate) fn sample(
    &mut self,
    context: NonNull<sys::llama_context>,
    row: i32,
    ban_end: bool,
  ) -> Result<Sampled> {
    self.remember_logits(context, row);
    let mut error = LiError::new();
    // SAFETY: both handles are alive and used by this thread only.
    let token =
      unsafe { li_sampler_sample(self.pointer.as_ptr(), context.as_ptr(), row, ban_end, &raw mut error) };
    error.check("no token could be chosen")?;
    if token < 0 {
      return Err(nothing_left(self.biased));
    }
    Ok(self.sampled(token))
  }

  /// As [`sample`](Self::sample), where `drafted` was drawn from `source`.
  pub(crate) fn verify(
    &mut self,
    context: NonNull<sys::llama_context>,
    row: i32,
    ban_end: bool,
    source: &Drafter,
    drafted: Drafted,
  ) -> Result<Sampled> {
    self.remember_logits(context, row);
    match source.verify(context, self.pointer, row, ban_end, drafted)? {
      token @ 0.. => Ok(self.sampled(token)),
      _ => Err(nothing_left(self.biased)),
    }
  }

  /// As [`sample`](Self::sample), without telling the sampler; a mask rules out the other tokens of a row for which a
  /// token was proposed before.
  pub(crate) fn propose(
    &mut self,
    context: NonNull<sys::llama_context>,
    row: i32,
    Among { ban_end, greedy, mask }: Among<'_>,
  ) -> Result<Sampled> {
    if mask.is_none() {
      self.remember_logits(context, row);
    }
    let words = mask.map(TokenMask::words);
    let (pointer, count) = words.map_or((std::ptr::null(), 0), |words| (words.as_ptr(), words.len()));
    let mut error = LiError::new();
    // SAFETY: both handles are alive and used by this thread only; the mask is passed with its length.
    let token = unsafe {
      let (sampler, context) = (self.pointer.as_ptr(), context.as_ptr());
      li_sampler_propose(sampler, context, row, ban_end, greedy, pointer, count, &raw mut error)
    };
    error.check("no token could be chosen")?;
    match (token, mask) {
      (0.., _) => Ok(self.sampled(token)),
      (_, Some(_)) => Err(constraint::nothing_left(self.biased)),
      (_, None) => Err(nothing_left(self.biased)),
    }
  }

  pub(crate) fn accept(&mut self, token: Token) -> Result<()> {
    let mut error = LiError::new();
    // SAFETY: the handle is alive; the token is of this vocabulary.
    unsafe { li_sampler_accept(self.pointer.as_ptr(), token, &raw mut error) }
    error.check("the token cannot be remembered")
  }

  /// Log probabilities are the model's own: the logits must be copied before the shim edits them.
  fn remember_logits(&mut self, context: NonNull<sys::llama_context>, row: i32) {
    if self.logprobs.is_none() {
      return;
    }
    let size = self.model.vocabulary_size() as usize;
    // SAFETY: the row was decoded with logits; llama.cpp keeps `n_vocab` floats there until the next decode.
    let logits = unsafe {
      let pointer = sys::llama_get_logits_ith(context.as_ptr(), row);
      if pointer.is_null() { &[] } else { std::slice::from_raw_parts(pointer, size) }
    };
    self.logits.clear();
    self.logits.extend_from_slice(logits);
  }

  fn sampled(&self, token: Token) -> Sampled {
    let logprobs = self.logprobs.map(|count| log_probabilities(&self.logits, token, count));
    Sampled { token, logprobs }
  }
}

/// What to say when the sampler had nothing to choose from.
fn nothing_left(biased: bool) -> EngineError {
  let (code, reason) = if biased {
    (ErrorCode::InvalidInput, "logitBias bans every token")
  } else {
    (ErrorCode::DecodeFailed, "the model's logits are not numbers: its weights are damaged")
  };
  EngineError::new(code, format!("no token can be chosen: {reason}"))
}

/// Control tokens that must appear as text: those of the answer's format, and those that mark reasoning.
fn preserved(model: &Model, options: &GenerateOptions) -> Result<HashSet<Token>> {
  let tags = options.text.reasoning.iter().flat_map(|tags| tags.ends.iter().chain([&tags.start]));
  let mut tokens = HashSet::new();
  for text in options.preserved_tokens.iter().chain(tags) {
    let found = model.tokenize(text, false, true)?;
    tokens.extend(found.into_iter().filter(|token| model.vocabulary().is_control(*token)));
  }
  tokens.extend(model.named_specials(options)?.into_iter().map(|(_, token)| token));
  Ok(tokens)
}
