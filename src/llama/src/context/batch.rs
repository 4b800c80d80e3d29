//! The tokens of a decode in llama.cpp's form.

use llama_cpp_sys_2 as sys;
use local_inference_core::decoder::{BatchToken, SequenceId, Token};

/// The arrays behind a `llama_batch`, kept between decodes.
pub(super) struct RawBatch {
  tokens: Vec<Token>,
  positions: Vec<i32>,
  sequence_counts: Vec<i32>,
  sequences: Vec<SequenceId>,
  sequence_pointers: Vec<*mut SequenceId>,
  logits: Vec<i8>,
}

impl RawBatch {
  pub(super) fn with_capacity(capacity: usize) -> Self {
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
  pub(super) fn fill(&mut self, tokens: &[BatchToken]) -> sys::llama_batch {
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
