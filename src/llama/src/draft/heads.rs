//! The KV cache of the target's own heads: what it has of a sequence is what the target has, or a later part of it, or
//! nothing. Tokens that it lacks make drafts worse, never the text: the target verifies each.

use llama_cpp_sys_2 as sys;
use local_inference_core::decoder::{BatchToken, SequenceId};
use local_inference_core::speculate::Kind;

use super::Drafter;
use super::ffi::{li_drafter_continue, li_drafter_follow};
use crate::ffi::LiError;

impl Drafter {
  /// The target has evaluated `batch`, which holds `tokens`, on `threads` threads: the heads do so, too.
  pub(crate) fn follow(&mut self, tokens: &[BatchToken], batch: sys::llama_batch, threads: i32) {
    if self.kind != Kind::Heads || self.failed {
      return;
    }
    let mut before = None;
    for token in tokens {
      if before != Some(token.sequence) {
        self.meet(token.sequence, usize::try_from(token.position).unwrap_or(0));
      }
      before = Some(token.sequence);
      self.unknown(token.sequence);
    }
    let mut error = LiError::new();
    // SAFETY: state and context are alive; the arrays of the batch are alive and as long as it says.
    let followed = unsafe {
      sys::llama_set_n_threads(self.context.as_ptr(), threads, threads);
      li_drafter_follow(self.state.as_ptr(), batch, &raw mut error)
    };
    if self.note(&error) || followed {
      return;
    }
    for token in tokens {
      self.forget(token.sequence);
    }
  }

  /// The next draft of a sequence goes on from row `row` of the target's last batch.
  pub(super) fn go_on_from(&mut self, index: usize, sequence: SequenceId, row: i32, position: usize) {
    let mut error = LiError::new();
    // SAFETY: the state is alive.
    let known = unsafe { li_drafter_continue(self.state.as_ptr(), sequence, row, &raw mut error) };
    if let Some(observed) = self.observed.get_mut(index) {
      *observed = known.then_some(position);
    }
    self.note(&error);
  }

  /// Makes what the heads have of `sequence` end before position `length`, or empties it. Always true.
  pub(super) fn meet(&mut self, sequence: SequenceId, length: usize) -> bool {
    if !self.truncate(sequence, length) {
      self.forget(sequence);
    }
    true
  }

  /// The target has truncated `sequence` to `length` positions.
  pub(crate) fn follow_truncate(&mut self, sequence: SequenceId, length: usize) {
    if self.kind != Kind::Heads {
      return;
    }
    // SAFETY: the context is alive.
    let newest =
      unsafe { sys::llama_memory_seq_pos_max(sys::llama_get_memory(self.context.as_ptr()), sequence) };
    if usize::try_from(newest + 1).unwrap_or(0) > length {
      self.meet(sequence, length);
    }
    let observed = usize::try_from(sequence).ok().and_then(|index| self.observed.get(index));
    if observed.copied().flatten().is_some_and(|position| position > length) {
      self.unknown(sequence);
    }
  }

  /// The target has emptied `sequence`, or what it holds is another text.
  pub(crate) fn follow_clear(&mut self, sequence: SequenceId) {
    if self.kind == Kind::Heads {
      self.forget(sequence);
      self.unknown(sequence);
    }
  }

  /// The target has given `to` what `from` has before position `length`.
  pub(crate) fn follow_copy(&mut self, from: SequenceId, to: SequenceId, length: usize) {
    if self.kind != Kind::Heads {
      return;
    }
    self.follow_clear(to);
    let Ok(end) = i32::try_from(length) else { return };
    // Shared cells of a window are not used again when they leave it.
    if self.window == 0 {
      // SAFETY: the context is alive; both sequences exist.
      unsafe { sys::llama_memory_seq_cp(sys::llama_get_memory(self.context.as_ptr()), from, to, -1, end) };
    }
  }

  /// The target has emptied every sequence.
  pub(crate) fn follow_clear_all(&mut self) {
    for sequence in 0..self.observed.len() {
      self.follow_clear(SequenceId::try_from(sequence).unwrap_or(0));
    }
  }

  fn forget(&mut self, sequence: SequenceId) {
    // SAFETY: the context is alive.
    unsafe { sys::llama_memory_seq_rm(sys::llama_get_memory(self.context.as_ptr()), sequence, -1, -1) };
  }

  fn unknown(&mut self, sequence: SequenceId) {
    if let Some(observed) = usize::try_from(sequence).ok().and_then(|index| self.observed.get_mut(index)) {
      *observed = None;
    }
  }
}
