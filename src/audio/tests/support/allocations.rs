//! Counts the allocations of a thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
  static COUNT: Cell<usize> = const { Cell::new(0) };
}

fn count() {
  // The counter is gone while a thread ends.
  let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
  unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
    count();
    // SAFETY: as the caller promises.
    unsafe { System.alloc(layout) }
  }

  unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
    // SAFETY: as the caller promises.
    unsafe { System.dealloc(pointer, layout) }
  }

  unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    count();
    // SAFETY: as the caller promises.
    unsafe { System.realloc(pointer, layout, size) }
  }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `work` allocates on this thread.
pub(crate) fn allocations_of(work: impl FnOnce()) -> usize {
  let before = COUNT.with(Cell::get);
  work();
  COUNT.with(Cell::get) - before
}

#[test]
fn the_counter_counts() {
  assert!(allocations_of(|| drop(std::hint::black_box(vec![1]))) > 0);
}
