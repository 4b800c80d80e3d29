//! The flag that stops an operation, shared by whoever asks and whoever works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A one-way stop flag; clones share it.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
  /// A flag that is not set.
  pub fn new() -> Self {
    Self::default()
  }

  /// Sets the flag. Idempotent.
  pub fn cancel(&self) {
    self.0.store(true, Ordering::Release);
  }

  /// Whether anyone has set the flag.
  pub fn is_cancelled(&self) -> bool {
    self.0.load(Ordering::Acquire)
  }
}
