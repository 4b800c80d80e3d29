//! Which files of a folder stay.

use std::time::{Duration, SystemTime};

/// A file of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateFile {
  /// Its size.
  pub bytes: u64,
  /// When it was last written or read.
  pub used: SystemTime,
}

/// Indices of the files to remove: those unused for longer than `time_to_live`, then the longest unused until the rest
/// has at most `bytes`.
pub fn superfluous(files: &[StateFile], now: SystemTime, bytes: u64, time_to_live: Duration) -> Vec<usize> {
  let mut newest_first: Vec<usize> = (0..files.len()).collect();
  newest_first.sort_by_key(|&index| std::cmp::Reverse(files[index].used));
  let mut kept = 0_u64;
  newest_first
    .into_iter()
    .filter(|&index| {
      let file = &files[index];
      // A time in the future is a clock that was set back: the file was used just now.
      let expired = now.duration_since(file.used).is_ok_and(|age| age > time_to_live);
      let fits = kept.saturating_add(file.bytes) <= bytes;
      if !expired && fits {
        kept += file.bytes;
      }
      expired || !fits
    })
    .collect()
}
