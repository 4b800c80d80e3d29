//! A drafter beside a context: another model whose proposals the context's model verifies.

use std::ptr::NonNull;

use llama_cpp_sys_2 as sys;
use local_inference_core::decoder::{DraftRequest, Drafted, SequenceId, Token};
use local_inference_core::error::Result;
use local_inference_core::speculate::{Kind, Problem, Unusable};

use crate::ffi::{LiError, LiSampler, li_context_new};
use crate::log;
use crate::model::Model;

mod ffi;
mod heads;
mod held;
mod load;
// They drive the private parts of a draft: the tests of this folder are compiled into the crate.
#[cfg(test)]
#[path = "../tests/draft/mod.rs"]
mod tests;

use ffi::{
  LiDraftRequest, LiDrafter, li_drafter_begin, li_drafter_draft, li_drafter_free, li_drafter_new,
  li_drafter_observe, li_sampler_verify,
};
pub(crate) use load::DraftModel;

/// A drafter in use: its context, and what it knows of each sequence.
pub(crate) struct Drafter {
  state: NonNull<LiDrafter>,
  context: NonNull<sys::llama_context>,
  kind: Kind,
  most: usize,
  batch: usize,
  /// Attention window of a draft model's sliding layers; 0 without them.
  window: i32,
  /// Assistant and heads: position of the token that follows the hidden state that is held.
  observed: Vec<Option<usize>>,
  /// Draft model: the tokens in its KV cache.
  held: Vec<Vec<Token>>,
  /// Set after a failure; drafts are empty from then on.
  failed: bool,
  _model: Model,
}

// SAFETY: belongs to the context that it drafts for, which one thread uses at a time.
unsafe impl Send for Drafter {}

impl Drop for Drafter {
  fn drop(&mut self) {
    // SAFETY: the state refers to the context, so it goes first; each is freed once.
    unsafe {
      li_drafter_free(self.state.as_ptr());
      sys::llama_free(self.context.as_ptr());
    }
  }
}

impl Drafter {
  /// Opens `drafter` beside `target`, whose parameters are `params`, for drafts of up to `most` tokens.
  ///
  /// # Safety
  /// `target` is alive, outlives the result and has evaluated nothing yet: sharing its KV cache empties that.
  pub(crate) unsafe fn open(
    target: NonNull<sys::llama_context>,
    mut params: sys::llama_context_params,
    drafter: DraftModel,
    most: usize,
  ) -> std::result::Result<Self, Unusable> {
    let DraftModel { model, kind, heads } = drafter;
    let sequences = params.n_seq_max;
    // SAFETY: the caller vouches for `target`.
    params.n_ctx = unsafe { sys::llama_n_ctx(target.as_ptr()) };
    params.n_outputs_max = sequences;
    params.abort_callback = None;
    params.abort_callback_data = std::ptr::null_mut();
    let raw_kind = if let Some(heads) = &heads {
      params.ctx_type = sys::LLAMA_CONTEXT_TYPE_MTP;
      params.type_k = sys::GGML_TYPE_F16;
      params.type_v = sys::GGML_TYPE_F16;
      params.n_outputs_max = sequences.saturating_mul(u32::try_from(heads.count).unwrap_or(1));
      2
    } else if kind == Kind::Assistant {
      params.ctx_type = sys::LLAMA_CONTEXT_TYPE_MTP;
      params.ctx_other = target.as_ptr();
      0
    } else {
      // A draft may be rough: what it costs to read matters.
      params.type_k = sys::GGML_TYPE_F16;
      params.type_v = sys::GGML_TYPE_F16;
      1
    };
    log::forget();
    let mut error = LiError::new();
    // SAFETY: the model is alive and kept; `pair` has checked what llama.cpp asserts on.
    let context = unsafe { li_context_new(model.pointer().as_ptr(), params, &raw mut error) };
    let failure = |error: &LiError| {
      let reason =
        error.take("the drafter cannot be used").map_or_else(log::complaints, |error| error.to_string());
      let memory = reason.contains("alloc") || reason.contains("memory");
      Unusable::new(if memory { Problem::OutOfMemory } else { Problem::Failed }, reason)
    };
    let Some(context) = NonNull::new(context) else { return Err(failure(&error)) };
    let length = i32::try_from(most).unwrap_or(1).max(1);
    // SAFETY: both contexts are alive.
    let state = unsafe {
      li_drafter_new(raw_kind, target.as_ptr(), context.as_ptr(), sequences, length, &raw mut error)
    };
    let Some(state) = NonNull::new(state) else {
      // SAFETY: nothing refers to the context.
      unsafe { sys::llama_free(context.as_ptr()) };
      return Err(failure(&error));
    };
    Ok(Self {
      state,
      context,
      kind,
      most,
      batch: params.n_batch as usize,
      // SAFETY: the model is alive.
      window: unsafe { sys::llama_model_n_swa(model.pointer().as_ptr()) },
      observed: vec![None; sequences as usize],
      held: vec![Vec::new(); sequences as usize],
      failed: false,
      _model: model,
    })
  }

  pub(crate) fn kind(&self) -> Kind {
    self.kind
  }

  /// A new text begins in `sequence`.
  pub(crate) fn begin(&mut self, sequence: SequenceId) {
    let mut error = LiError::new();
    // SAFETY: the state is alive.
    unsafe { li_drafter_begin(self.state.as_ptr(), sequence, &raw mut error) }
    self.note(&error);
  }

  /// The next token of `sequence`, whose place is `position`, was sampled after row `row` of the target's last batch.
  pub(crate) fn observe(&mut self, sequence: SequenceId, row: usize, position: usize) {
    if self.kind == Kind::DraftModel || self.failed {
      return;
    }
    let (Ok(index), Ok(row)) = (usize::try_from(sequence), i32::try_from(row)) else { return };
    if self.kind == Kind::Heads {
      return self.go_on_from(index, sequence, row, position);
    }
    let mut error = LiError::new();
    // SAFETY: the state is alive; one sequence and one row are passed.
    unsafe {
      li_drafter_observe(self.state.as_ptr(), &raw const sequence, &raw const row, 1, &raw mut error);
    }
    if let Some(observed) = self.observed.get_mut(index) {
      *observed = Some(position);
    }
    self.note(&error);
  }

  /// Up to `most` tokens for each request, in one go.
  pub(crate) fn draft(&mut self, requests: &[DraftRequest]) -> Vec<Vec<Token>> {
    let mut drafts = vec![Vec::new(); requests.len()];
    if self.failed {
      return drafts;
    }
    let ready: Vec<usize> = (0..requests.len()).filter(|&index| self.prepare(&requests[index])).collect();
    if ready.is_empty() {
      return drafts;
    }
    let raw: Vec<_> = ready.iter().map(|&index| self.to_raw(&requests[index])).collect();
    let mut tokens = vec![0; ready.len() * self.most];
    let mut lengths = vec![0; ready.len()];
    let mut error = LiError::new();
    // SAFETY: the arrays have the sizes that are passed with them.
    unsafe {
      li_drafter_draft(
        self.state.as_ptr(),
        raw.as_ptr(),
        raw.len(),
        tokens.as_mut_ptr(),
        self.most,
        lengths.as_mut_ptr(),
        &raw mut error,
      );
    }
    self.note(&error);
    for ((&index, tokens), &length) in ready.iter().zip(tokens.chunks(self.most)).zip(&lengths) {
      drafts[index] = tokens[..usize::try_from(length).unwrap_or(0)].to_vec();
      if self.kind == Kind::Heads {
        self.meet(requests[index].sequence, before_last(&requests[index]).unwrap_or(0));
      } else {
        self.remember(&requests[index], &drafts[index]);
      }
    }
    drafts
  }

  /// The token that follows row `row` of `target`, where `drafted` was drawn; negative when none can be chosen.
  pub(crate) fn verify(
    &self,
    target: NonNull<sys::llama_context>,
    sampler: NonNull<LiSampler>,
    row: i32,
    ban_end: bool,
    drafted: Drafted,
  ) -> Result<Token> {
    let mut error = LiError::new();
    let Drafted { sequence, place, token } = drafted;
    // SAFETY: all three are alive and used by this thread only.
    let token = unsafe {
      let (sampler, target, state) = (sampler.as_ptr(), target.as_ptr(), self.state.as_ptr());
      li_sampler_verify(sampler, target, row, ban_end, state, sequence, place, token, &raw mut error)
    };
    error.check("no token could be chosen")?;
    Ok(token)
  }

  fn to_raw(&self, request: &DraftRequest) -> LiDraftRequest {
    LiDraftRequest {
      sequence: request.sequence,
      last: request.history.tail().last().copied().unwrap_or(0),
      position: i32::try_from(before_last(request).unwrap_or(0)).unwrap_or(i32::MAX),
      most: i32::try_from(request.most.min(self.most)).unwrap_or(1),
      temperature: request.draw.map_or(0.0, |draw| draw.temperature),
      // Another stream than that of the model's sampler.
      seed: request.draw.map_or(0, |draw| draw.seed ^ 0x85eb_ca6b),
    }
  }

  /// Whether a draft can follow the history: the drafter must know everything before the last token.
  fn prepare(&mut self, request: &DraftRequest) -> bool {
    let (Ok(index), Some(before)) = (usize::try_from(request.sequence), before_last(request)) else {
      return false;
    };
    if request.most == 0 || index >= self.held.len() {
      return false;
    }
    match self.kind {
      Kind::Heads => self.observed[index] == Some(before) && self.meet(request.sequence, before),
      Kind::Assistant => self.observed[index] == Some(before),
      // A draft model reads text alone.
      _ => {
        request.history.as_text().is_some_and(|text| self.catch_up(index, request.sequence, &text[..before]))
      }
    }
  }

  /// Logs a failure and stops drafting: the context goes on without.
  fn note(&mut self, error: &LiError) -> bool {
    let Some(error) = error.take("drafting failed") else { return false };
    tracing::warn!("{error}; decoding goes on without a drafter");
    self.failed = true;
    true
  }
}

/// Position of the last token of a history, if it ends with one.
fn before_last(request: &DraftRequest) -> Option<usize> {
  let last = request.history.len_cells().checked_sub(request.history.tail().len().min(1))?;
  (last < request.history.len_cells()).then(|| request.history.position(last))
}
