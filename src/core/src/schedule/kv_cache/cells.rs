//! How many cells of the KV cache sequences use together: copies of a beginning share theirs.

use std::collections::BTreeMap;

use crate::decoder::SequenceId;

/// The cells of one sequence, as runs. Sequences with a run of the same name share its cells from the first one on.
#[derive(Debug)]
pub(super) struct Cells {
  runs: Vec<(u64, usize)>,
  /// The last run belongs to this sequence alone, so it may grow.
  open: bool,
  next: u64,
}

impl Cells {
  pub(super) fn new(sequence: SequenceId) -> Self {
    Self { runs: Vec::new(), open: false, next: u64::from(sequence.unsigned_abs()) << 40 }
  }

  /// Adds cells of its own.
  pub(super) fn grow(&mut self, count: usize) {
    if count == 0 {
      return;
    }
    if let Some((_, length)) = self.runs.last_mut().filter(|_| self.open) {
      *length += count;
    } else {
      self.next += 1;
      self.runs.push((self.next, count));
      self.open = true;
    }
  }

  /// Keeps the first `length` cells.
  pub(super) fn cut(&mut self, length: usize) {
    let mut left = length;
    let count = self.runs.len();
    for (index, (_, run)) in self.runs.iter_mut().enumerate() {
      if *run >= left {
        self.open &= *run == left && index + 1 == count;
        *run = left;
        self.runs.truncate(index + usize::from(left > 0));
        return;
      }
      left -= *run;
    }
  }

  /// Becomes the first `length` cells of `other`.
  pub(super) fn share(&mut self, other: &mut Self, length: usize) {
    other.open = false;
    self.runs.clone_from(&other.runs);
    self.open = false;
    self.cut(length);
  }

  /// Whether any cell belongs to both.
  pub(super) fn overlaps(&self, other: &Self) -> bool {
    self.runs.iter().any(|(name, _)| other.runs.iter().any(|(same, _)| name == same))
  }
}

/// Cells that all of these sequences use together.
pub(super) fn distinct<'a>(all: impl Iterator<Item = &'a Cells>) -> usize {
  let mut lengths = BTreeMap::new();
  for &(name, length) in all.flat_map(|cells| &cells.runs) {
    let longest = lengths.entry(name).or_insert(0);
    *longest = length.max(*longest);
  }
  lengths.values().sum()
}

#[cfg(test)]
mod tests {
  use super::*;

  fn used(all: &[&Cells]) -> usize {
    distinct(all.iter().copied())
  }

  #[test]
  fn a_shared_beginning_counts_once() {
    let (mut a, mut b, mut c) = (Cells::new(0), Cells::new(1), Cells::new(2));
    a.grow(10);
    b.share(&mut a, 8);
    c.share(&mut b, 5);
    assert_eq!((used(&[&a, &b, &c]), used(&[&b, &c]), used(&[&c])), (10, 8, 5));
    a.grow(3);
    b.grow(4);
    c.grow(1);
    assert_eq!((used(&[&a, &b, &c]), used(&[&b, &c])), (18, 13));
  }

  #[test]
  fn what_grows_after_a_cut_is_not_shared() {
    let (mut a, mut b) = (Cells::new(0), Cells::new(1));
    a.grow(10);
    b.share(&mut a, 10);
    a.cut(6);
    a.grow(4);
    assert_eq!((used(&[&a, &b]), a.overlaps(&b)), (14, true));
    b.cut(0);
    assert_eq!((used(&[&a, &b]), a.overlaps(&b)), (10, false));
    a.cut(0);
    a.grow(2);
    assert_eq!(used(&[&a]), 2);
  }

  #[test]
  fn a_run_of_its_own_goes_on_growing() {
    let mut a = Cells::new(3);
    a.grow(2);
    a.cut(2);
    a.grow(2);
    assert_eq!((a.runs.len(), used(&[&a])), (1, 4));
  }
}
