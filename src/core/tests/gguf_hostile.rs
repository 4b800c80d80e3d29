//! Damage of every kind ends in a refusal: no panic, no large allocation.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its input fails")]

mod gguf_writer;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use gguf_writer::{llama, parse, read};
use local_inference_core::error::ErrorCode;
use local_inference_core::fit::{ComputeShape, FitInput, KvGeometry, plan};
use local_inference_core::gguf::GgufHeader;
use proptest::collection::vec;
use proptest::prelude::*;

/// Counts what each thread holds and the most it held.
struct Counting;

thread_local! {
  static HELD: Cell<isize> = const { Cell::new(0) };
  static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(change: isize) {
  // A thread that is ending has no counters any more.
  let _ = HELD.try_with(|held| {
    held.set(held.get() + change);
    let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
  });
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
  unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
    count(layout.size().cast_signed());
    // SAFETY: the caller's promise.
    unsafe { System.alloc(layout) }
  }

  unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
    count(-layout.size().cast_signed());
    // SAFETY: the caller's promise.
    unsafe { System.dealloc(pointer, layout) }
  }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MOST_ALLOWED: isize = 2 << 20;

/// What a reader was told.
fn facts(header: &GgufHeader) -> (String, u64, u32, u32, u64) {
  let GgufHeader { architecture, parameter_count, context_length, vocabulary_size, weight_bytes, .. } =
    header;
  (architecture.clone(), *parameter_count, *context_length, *vocabulary_size, *weight_bytes)
}

/// Reads `bytes`, uses what is told about them, and checks the memory it took.
#[track_caller]
fn judge(bytes: &[u8]) -> Result<(), ErrorCode> {
  HELD.set(0);
  MOST.set(0);
  let outcome = read(bytes).map(|header| {
    let geometry = KvGeometry::from_header(&header).unwrap();
    let compute = ComputeShape::from_header(&header).unwrap();
    let input = FitInput::new(&header, 1 << 34, 1 << 29).unwrap();
    assert_eq!((&input.geometry, input.compute), (&geometry, compute));
    let _ = plan(&input);
    // What was accepted is accepted again, and the same.
    assert_eq!(read(bytes).as_ref().map(facts), Ok(facts(&header)));
  });
  assert!(MOST.get() < MOST_ALLOWED, "{} bytes were held", MOST.get());
  outcome.map_err(|error| error.code())
}

#[test]
fn the_undamaged_file_is_accepted() {
  assert_eq!(judge(&llama().bytes()), Ok(()));
}

#[test]
fn a_file_cut_at_any_byte_is_invalid() {
  let bytes = llama().bytes();
  for length in 0..bytes.len() {
    assert_eq!(judge(&bytes[..length]), Err(ErrorCode::ModelInvalid), "cut at {length}");
  }
}

#[test]
fn a_flipped_bit_anywhere_in_the_header_is_survived() {
  let bytes = llama().bytes();
  let header = llama().header().len();
  let mut refused = 0;
  for index in 0..header * 8 {
    let mut damaged = bytes.clone();
    damaged[index / 8] ^= 1 << (index % 8);
    if let Err(code) = judge(&damaged) {
      assert!(matches!(code, ErrorCode::ModelInvalid | ErrorCode::ModelUnsupported), "bit {index}: {code}");
      refused += 1;
    }
  }
  // Flips in texts and in sizes that stay possible cannot be told from intent.
  assert!(refused > header * 2, "{refused} of {} refused", header * 8);
}

#[test]
fn extreme_numbers_anywhere_in_the_header_are_survived() {
  let bytes = llama().bytes();
  for at in 0..llama().header().len() {
    for value in [0, 1, u32::MAX.into(), 1 << 31, i64::MAX.cast_unsigned(), 1 << 63, u64::MAX] {
      let mut damaged = bytes.clone();
      let end = (at + 8).min(damaged.len());
      damaged[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
      let _ = judge(&damaged);
    }
  }
}

proptest! {
  #[test]
  fn random_bytes_are_never_a_model(bytes in vec(any::<u8>(), 0..2000)) {
    prop_assert!(judge(&bytes).is_err());
  }

  #[test]
  fn random_bytes_after_a_preamble_are_survived(counts in any::<[u8; 2]>(), rest in vec(any::<u8>(), 0..2000)) {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(u64::from(counts[0] % 8).to_le_bytes());
    bytes.extend(u64::from(counts[1] % 8).to_le_bytes());
    bytes.extend(rest);
    let _ = judge(&bytes);
    let _ = parse(&bytes);
  }

  #[test]
  fn several_damaged_bytes_are_survived(damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
    let mut bytes = llama().bytes();
    let header = llama().header().len();
    for (at, byte) in damage {
      bytes[at.index(header)] = byte;
    }
    let _ = judge(&bytes);
  }
}
