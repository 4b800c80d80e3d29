//! Size and habits of the fake decoder.

use local_inference_core::speculate::Limits;

/// How far a sequence can go back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Memory {
  /// To any position.
  #[default]
  Full,
  /// By at most this many positions, as with sliding-window attention.
  Window(usize),
  /// Not at all, and an interrupted batch loses its sequences: a recurrent state.
  Recurrent,
}

/// A drafter that knows what the model says with seed 7, and how the scheduler uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Drafting {
  /// Every how many tokens of a sequence it is wrong; 0 for never.
  pub(crate) wrong_every: usize,
  pub(crate) limits: Limits,
}

/// Size and habits of the fake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
  pub(crate) parallel: u32,
  pub(crate) context: usize,
  pub(crate) batch: usize,
  pub(crate) micro_batch: usize,
  pub(crate) memory: Memory,
  /// Bytes of snapshots; one takes eight a token.
  pub(crate) cache: usize,
  /// As in the scheduler's settings.
  pub(crate) long_request: usize,
  pub(crate) queue_limit: usize,
  pub(crate) durable: bool,
  pub(crate) drafting: Option<Drafting>,
}

impl Default for Setup {
  fn default() -> Self {
    Self {
      parallel: 1,
      context: 256,
      batch: 16,
      micro_batch: 4,
      memory: Memory::Full,
      cache: 0,
      long_request: 256,
      queue_limit: 256,
      durable: false,
      drafting: None,
    }
  }
}
