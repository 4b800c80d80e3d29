//! The KV cache and recurrent state of a context: going back, sharing, copies, moving positions.
//!
//! What holds for each kind of memory (llama.cpp's `llama_memory_i`):
//!
//! | memory | going back | snapshot |
//! |---|---|---|
//! | attention | to any position | serves any of its beginnings |
//! | sliding window | while the window before the new end is still there | serves all of it, or all but one token |
//! | recurrent, hybrid | not at all | serves all of it |
//!
//! Going further back with a sliding window, `llama_memory_seq_rm` says that it succeeded and the output is wrong: that is
//! checked here.

use llama_cpp_sys_2 as sys;
use local_inference_core::decoder::{Reach, SequenceId};
use local_inference_core::fit::Windows;

use super::Context;
use crate::log;

/// A copy of all that a sequence has.
pub(super) const WHOLE: sys::llama_state_seq_flags = 0;
/// A copy of what cannot be cut back: windows and recurrent state.
const PARTIAL: sys::llama_state_seq_flags = 1; // LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY

impl Context {
  fn memory(&self) -> sys::llama_memory_t {
    // SAFETY: the context is alive; null for models without memory, which llama_memory_* accept.
    unsafe { sys::llama_get_memory(self.pointer.as_ptr()) }
  }

  /// Removes every position of every sequence.
  pub(crate) fn clear_all(&mut self) {
    let memory = self.memory();
    if !memory.is_null() {
      // SAFETY: the memory belongs to this context, here and below.
      unsafe { sys::llama_memory_clear(memory, false) }
    }
    if let Some(drafter) = &mut self.drafter {
      drafter.follow_clear_all();
    }
  }

  pub(super) fn positions(&self, sequence: SequenceId) -> usize {
    // SAFETY: as above.
    let last = unsafe { sys::llama_memory_seq_pos_max(self.memory(), sequence) };
    usize::try_from(last + 1).unwrap_or(0)
  }

  pub(super) fn clear_sequence(&mut self, sequence: SequenceId) {
    // SAFETY: as above.
    unsafe { sys::llama_memory_seq_rm(self.memory(), sequence, -1, -1) };
  }

  /// Whether the sequence still has what the token at position `from` would look at.
  pub(super) fn remembers(&self, sequence: SequenceId, from: usize) -> bool {
    let length = self.positions(sequence);
    if from >= length || self.recurrent {
      return from == length;
    }
    let Ok(from) = i32::try_from(from) else { return false };
    // SAFETY: as above.
    let oldest = unsafe { sys::llama_memory_seq_pos_min(self.memory(), sequence) };
    // A window of n reaches from the token itself to the n - 1 before it.
    oldest == 0 || oldest < from - self.window + 2
  }

  pub(super) fn truncate_to(&mut self, sequence: SequenceId, from: usize) -> bool {
    if !self.remembers(sequence, from) {
      return false;
    }
    let Ok(from) = i32::try_from(from) else { return false };
    // SAFETY: as above.
    unsafe { sys::llama_memory_seq_rm(self.memory(), sequence, from, -1) }
  }

  pub(super) fn copy_positions(&mut self, from: SequenceId, to: SequenceId, length: usize) -> bool {
    if !self.remembers(from, length) {
      return false;
    }
    let Ok(end) = i32::try_from(length) else { return false };
    // SAFETY: as above; both sequences exist.
    unsafe { sys::llama_memory_seq_cp(self.memory(), from, to, -1, if self.recurrent { -1 } else { end }) };
    if self.trimmed() && !self.own_window(to) {
      self.clear_sequence(to);
    }
    self.positions(to) == length
  }

  /// Gives a sequence cells of its own for its window: shared ones are never reused when they leave the window, so that a
  /// cache of windows would run full.
  fn own_window(&mut self, sequence: SequenceId) -> bool {
    let Some(window) = self.save(sequence, PARTIAL) else { return false };
    self.load(sequence, &window, PARTIAL)
  }

  /// Whether sliding layers keep little more than their window.
  fn trimmed(&self) -> bool {
    self.window > 0 && self.settings.windows == Windows::Trimmed
  }

  pub(super) fn snapshot_reach(&self) -> Reach {
    if self.recurrent {
      Reach::Back(0)
    } else if self.window > 0 {
      // A copy leaves out what is outside the window of the next token, also where the cache has it.
      Reach::Back(1)
    } else {
      Reach::Any
    }
  }

  pub(super) fn save(&mut self, sequence: SequenceId, flags: sys::llama_state_seq_flags) -> Option<Vec<u8>> {
    let context = self.pointer.as_ptr();
    // SAFETY: the context is alive; llama.cpp catches its exceptions here.
    let size = unsafe { sys::llama_state_seq_get_size_ext(context, sequence, flags) };
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).ok()?;
    // SAFETY: the buffer has `size` bytes of room, of which llama.cpp writes as many as it returns.
    unsafe {
      let written = sys::llama_state_seq_get_data_ext(context, bytes.as_mut_ptr(), size, sequence, flags);
      bytes.set_len(written.min(size));
    }
    (size > 0 && bytes.len() == size).then_some(bytes)
  }

  pub(super) fn load(
    &mut self,
    sequence: SequenceId,
    state: &[u8],
    flags: sys::llama_state_seq_flags,
  ) -> bool {
    // A copy that finds no room is no error.
    log::expect_complaints(true);
    // SAFETY: the context is alive; the slice is passed with its length; llama.cpp catches its exceptions here.
    let read = unsafe {
      sys::llama_state_seq_set_data_ext(self.pointer.as_ptr(), state.as_ptr(), state.len(), sequence, flags)
    };
    log::expect_complaints(false);
    if read == 0 {
      self.clear_sequence(sequence);
    }
    read > 0
  }

  pub(super) fn movable(&self) -> bool {
    // SAFETY: as above.
    self.window == 0 && !self.recurrent && unsafe { sys::llama_memory_can_shift(self.memory()) }
  }

  pub(super) fn shift_positions(&mut self, sequence: SequenceId, keep: usize, discard: usize) -> bool {
    let (Ok(keep), Ok(discard)) = (i32::try_from(keep), i32::try_from(discard)) else { return false };
    if !self.movable() {
      return false;
    }
    // SAFETY: as above; the memory can move positions, which happens before the next decode.
    unsafe {
      let removed = sys::llama_memory_seq_rm(self.memory(), sequence, keep, keep + discard);
      if removed {
        sys::llama_memory_seq_add(self.memory(), sequence, keep + discard, -1, -discard);
      }
      removed
    }
  }
}
