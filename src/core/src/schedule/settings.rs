//! What a scheduler is told when it is made.

use std::time::Duration;

use crate::speculate::Limits;

/// How a scheduler is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
  /// Sequences of the decoder, at least 1; they share its context.
  pub parallel: u32,
  /// Most requests that wait in one lane; more are refused with `QUEUE_FULL`. Default 256.
  pub queue_limit: usize,
  /// Longest wait of requests that name none. Default `None`: no limit.
  pub queue_timeout: Option<Duration>,
  /// Most bytes of snapshots in memory. Default 0: none are made.
  pub cache_bytes: usize,
  /// A request expected to process at least this many tokens, prompt and answer, first moves what idle sequences cache
  /// into snapshots. Every token attends to all occupied cells; a copy costs about as much as 200 tokens of that.
  /// Default 256.
  pub long_request: usize,
  /// Hands out a snapshot at the end of each request of a conversation. Default false.
  pub durable: bool,
  /// Limits of the drafts of a request. Default `None`: no speculation.
  pub speculation: Option<Limits>,
  /// Drafts from repetitions in the text where the decoder has no drafter. Default false.
  pub ngram: bool,
}

impl Default for Settings {
  fn default() -> Self {
    Self {
      parallel: 1,
      queue_limit: 256,
      queue_timeout: None,
      cache_bytes: 0,
      long_request: 256,
      durable: false,
      speculation: None,
      ngram: false,
    }
  }
}
