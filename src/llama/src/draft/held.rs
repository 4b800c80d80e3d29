//! What a draft model holds of each sequence. An assistant reads the target's KV cache and holds nothing.

use llama_cpp_sys_2 as sys;
use local_inference_core::decoder::{DraftRequest, SequenceId, Token};
use local_inference_core::history::History;
use local_inference_core::speculate::Kind;

use super::Drafter;
use super::ffi::li_draft_feed;
use crate::ffi::LiError;

impl Drafter {
  /// Tokens before the last one of `history` that a draft model has yet to evaluate.
  pub(crate) fn unread(&self, sequence: SequenceId, history: &History) -> usize {
    let held = usize::try_from(sequence).ok().and_then(|index| self.held.get(index));
    let (Kind::DraftModel, Some(held), Some(text)) = (self.kind, held, history.as_text()) else { return 0 };
    let shared = held.iter().zip(text).take_while(|(a, b)| a == b).count();
    text.len().saturating_sub(1 + shared)
  }

  /// Brings a draft model's KV cache up to `history`; false if that needs another call.
  pub(super) fn catch_up(&mut self, index: usize, sequence: SequenceId, history: &[Token]) -> bool {
    let shared = self.held[index].iter().zip(history).take_while(|(a, b)| a == b).count();
    let kept = if self.truncate(sequence, shared) { shared } else { 0 };
    self.held[index].truncate(kept);
    let missing = &history[kept..history.len().min(kept + self.batch)];
    if !missing.is_empty() {
      let mut error = LiError::new();
      let (count, position) = (i32::try_from(missing.len()), i32::try_from(kept));
      let (Ok(count), Ok(position)) = (count, position) else { return false };
      // SAFETY: the context is alive; the tokens are passed with their number and are the target's, whose vocabulary
      // was compared.
      let outcome = unsafe {
        li_draft_feed(self.context.as_ptr(), sequence, missing.as_ptr(), count, position, &raw mut error)
      };
      if self.note(&error) {
        return false;
      }
      if outcome != 0 {
        // Other sequences may fill the cache: nothing is drafted until there is room.
        self.truncate(sequence, 0);
        self.held[index].clear();
        return false;
      }
      self.held[index].extend_from_slice(missing);
    }
    self.held[index].len() == history.len()
  }

  /// Cuts a draft model's sequence to `length` tokens, or to none if it cannot go back that far; then false.
  pub(super) fn truncate(&mut self, sequence: SequenceId, length: usize) -> bool {
    let from = i32::try_from(length).unwrap_or(0);
    // SAFETY: the context is alive.
    unsafe {
      let memory = sys::llama_get_memory(self.context.as_ptr());
      let oldest = sys::llama_memory_seq_pos_min(memory, sequence);
      let newest = sys::llama_memory_seq_pos_max(memory, sequence);
      if from > newest {
        return from == newest + 1 || length == 0;
      }
      // Sliding layers forget old positions; going back further than they remember succeeds and is wrong.
      let possible = from > 0 && (self.window == 0 || oldest <= 0 || from - self.window >= oldest);
      if possible && sys::llama_memory_seq_rm(memory, sequence, from, -1) {
        return true;
      }
      sys::llama_memory_seq_rm(memory, sequence, -1, -1);
    }
    length == 0
  }

  /// What a draft model evaluated while drafting: the last token and all drafted ones but the last.
  pub(super) fn remember(&mut self, request: &DraftRequest, draft: &[Token]) {
    if self.kind != Kind::DraftModel {
      return;
    }
    let (Ok(index), Some(last)) = (usize::try_from(request.sequence), request.history.tail().last()) else {
      return;
    };
    // SAFETY: the context is alive.
    let newest = unsafe {
      sys::llama_memory_seq_pos_max(sys::llama_get_memory(self.context.as_ptr()), request.sequence)
    };
    let held = &mut self.held[index];
    held.push(*last);
    held.extend_from_slice(draft);
    held.truncate(usize::try_from(newest + 1).unwrap_or(0));
  }
}
