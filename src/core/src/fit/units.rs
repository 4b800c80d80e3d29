//! Sizes of contexts and of memory.

/// Context sizes are multiples of this: llama.cpp pads the cache to 256 cells.
pub const CONTEXT_STEP: u32 = 256;

pub(super) const MIB: u64 = 1 << 20;

/// Memory to leave free on a machine with `memory_total` bytes: a tenth, at least 512 MiB (but no more than a quarter
/// of a small machine) and at most 4 GiB. It covers what grows while decoding: the runtime's heap, the output logits,
/// other processes.
pub fn default_headroom(memory_total: u64) -> u64 {
  let floor = (512 * MIB).min(memory_total / 4);
  (memory_total / 10).clamp(floor, 4096 * MIB)
}

/// `context` rounded up to whole cache pads.
pub(super) fn padded(cells: u64) -> u64 {
  cells.next_multiple_of(u64::from(CONTEXT_STEP))
}

/// A size for people: `512 MiB`, `7.5 GiB`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub(super) fn readable(bytes: u64) -> String {
  if bytes < 1024 * MIB {
    return format!("{} MiB", bytes.div_ceil(MIB));
  }
  format!("{:.1} GiB", bytes as f64 / (1024 * MIB) as f64)
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn headroom_is_a_tenth_within_bounds() {
    assert_eq!(default_headroom(16 << 30), (16 << 30) / 10);
    assert_eq!(default_headroom(4 << 30), 512 * MIB);
    assert_eq!(default_headroom(1 << 30), 256 * MIB);
    assert_eq!(default_headroom(512 << 30), 4096 * MIB);
    assert_eq!(default_headroom(0), 0);
  }

  #[test]
  fn sizes_read_in_mebibytes_and_gibibytes() {
    assert_eq!(readable(0), "0 MiB");
    assert_eq!(readable(MIB + 1), "2 MiB");
    assert_eq!(readable(7 * 1024 * MIB + 512 * MIB), "7.5 GiB");
  }
}
