//! Declarations of `shim/draft.h`.

use std::ffi::c_char;

use llama_cpp_sys_2::{llama_batch, llama_context, llama_model, llama_seq_id, llama_token};

use crate::ffi::{LiError, LiSampler};

#[repr(C)]
pub(super) struct LiDraftRequest {
  pub(super) sequence: llama_seq_id,
  pub(super) last: llama_token,
  pub(super) position: i32,
  pub(super) most: i32,
  pub(super) temperature: f32,
  pub(super) seed: u32,
}

#[repr(C)]
pub(super) struct LiDrafter {
  opaque: [u8; 0],
}

unsafe extern "C" {
  pub(super) fn li_vocabulary_difference(
    target: *const llama_model,
    draft: *const llama_model,
    first: i32,
    out: *mut c_char,
    capacity: usize,
    error: *mut LiError,
  );
  pub(super) fn li_drafter_new(
    kind: i32,
    target: *mut llama_context,
    draft: *mut llama_context,
    sequences: u32,
    most: i32,
    error: *mut LiError,
  ) -> *mut LiDrafter;
  pub(super) fn li_drafter_free(drafter: *mut LiDrafter);
  pub(super) fn li_drafter_begin(drafter: *mut LiDrafter, sequence: llama_seq_id, error: *mut LiError);
  pub(super) fn li_draft_feed(
    draft: *mut llama_context,
    sequence: llama_seq_id,
    tokens: *const llama_token,
    count: i32,
    position: i32,
    error: *mut LiError,
  ) -> i32;
  pub(super) fn li_drafter_observe(
    drafter: *mut LiDrafter,
    sequences: *const llama_seq_id,
    rows: *const i32,
    count: usize,
    error: *mut LiError,
  );
  pub(super) fn li_drafter_follow(drafter: *mut LiDrafter, batch: llama_batch, error: *mut LiError) -> bool;
  pub(super) fn li_drafter_continue(
    drafter: *mut LiDrafter,
    sequence: llama_seq_id,
    row: i32,
    error: *mut LiError,
  ) -> bool;
  pub(super) fn li_drafter_draft(
    drafter: *mut LiDrafter,
    requests: *const LiDraftRequest,
    count: usize,
    out: *mut llama_token,
    stride: usize,
    lengths: *mut i32,
    error: *mut LiError,
  );
  pub(super) fn li_sampler_verify(
    sampler: *mut LiSampler,
    context: *mut llama_context,
    row: i32,
    ban_end: bool,
    drafter: *const LiDrafter,
    sequence: llama_seq_id,
    place: usize,
    token: llama_token,
    error: *mut LiError,
  ) -> llama_token;
}
