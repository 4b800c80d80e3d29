//! The cores are shared by all contexts that compute at the same time: text and embeddings side by side would otherwise
//! have more threads than cores, and threads that wait for each other are then many times slower.

use std::sync::atomic::{AtomicU32, Ordering};

static ACTIVE: AtomicU32 = AtomicU32::new(0);

/// Held by a context while it has work.
pub(crate) struct Active(());

impl Active {
  pub(crate) fn begin() -> Self {
    ACTIVE.fetch_add(1, Ordering::Relaxed);
    Self(())
  }
}

impl Drop for Active {
  fn drop(&mut self) {
    ACTIVE.fetch_sub(1, Ordering::Relaxed);
  }
}

/// Threads for the next decode of a context that has `own` of them alone.
pub(crate) fn share(own: u32) -> u32 {
  (own / ACTIVE.load(Ordering::Relaxed).max(1)).max(1)
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn threads_are_divided_among_the_active_contexts_and_nobody_gets_none() {
    assert_eq!(share(4), 4);
    let first = Active::begin();
    assert_eq!(share(4), 4);
    let others = [Active::begin(), Active::begin()];
    assert_eq!((share(4), share(12), share(2)), (1, 4, 1));
    drop(others);
    assert_eq!(share(4), 4);
    drop(first);
  }
}
