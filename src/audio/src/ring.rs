//! The last samples of a stream, addressed by their index in the stream.

use std::ops::Range;

/// Keeps the last `capacity` samples of a stream. Too much loses the oldest samples, never the count of them.
#[derive(Debug, Clone)]
pub struct Ring {
  samples: Box<[f32]>,
  end: u64,
  start: u64,
}

impl Ring {
  /// A ring of `capacity` samples.
  ///
  /// # Panics
  /// If `capacity` is 0.
  pub fn new(capacity: usize) -> Self {
    assert!(capacity > 0, "a ring holds samples");
    Self { samples: vec![0.0; capacity].into_boxed_slice(), end: 0, start: 0 }
  }

  /// Appends `samples`.
  pub fn push(&mut self, samples: &[f32]) {
    let capacity = self.samples.len();
    let skipped = samples.len().saturating_sub(capacity);
    let at = self.place(self.end + skipped as u64);
    let (first, second) = samples[skipped..].split_at((samples.len() - skipped).min(capacity - at));
    self.samples[at..at + first.len()].copy_from_slice(first);
    self.samples[..second.len()].copy_from_slice(second);
    self.end += samples.len() as u64;
    self.start = self.start.max(self.end.saturating_sub(capacity as u64));
  }

  /// Indices of the samples that are held.
  pub fn held(&self) -> Range<u64> {
    self.start..self.end
  }

  /// Index of the next sample: how many the stream has had.
  pub fn end(&self) -> u64 {
    self.end
  }

  /// The samples of `range`, as the two pieces in which they lie.
  ///
  /// # Panics
  /// If `range` is not within [`Self::held`].
  pub fn slices(&self, range: Range<u64>) -> (&[f32], &[f32]) {
    assert!(
      self.start <= range.start && range.start <= range.end && range.end <= self.end,
      "held samples only"
    );
    let length = (range.end - range.start) as usize;
    let at = self.place(range.start);
    let first = length.min(self.samples.len() - at);
    (&self.samples[at..at + first], &self.samples[..length - first])
  }

  /// Copies the samples from index `start` on into `out`. What is no longer, or not yet, held reads as silence.
  pub fn read(&self, start: i64, out: &mut [f32]) {
    out.fill(0.0);
    let end = start + out.len() as i64;
    let from = start.max(self.start as i64);
    let to = end.min(self.end as i64);
    if from >= to {
      return;
    }
    let (first, second) = self.slices(from as u64..to as u64);
    let at = (from - start) as usize;
    out[at..at + first.len()].copy_from_slice(first);
    out[at + first.len()..at + first.len() + second.len()].copy_from_slice(second);
  }

  /// Forgets the samples before index `start`.
  pub fn forget_before(&mut self, start: u64) {
    self.start = self.start.max(start.min(self.end));
  }

  /// Forgets all samples and counts from 0 again.
  pub fn reset(&mut self) {
    self.end = 0;
    self.start = 0;
  }

  fn place(&self, index: u64) -> usize {
    (index % self.samples.len() as u64) as usize
  }
}

#[cfg(test)]
mod tests {
  use super::*;
  use proptest::prelude::*;

  proptest! {
    #[test]
    fn the_last_samples_are_held_in_order(lengths in prop::collection::vec(0usize..60, 1..20), capacity in 1usize..40) {
      let stream: Vec<f32> = (0..lengths.iter().sum::<usize>()).map(|index| index as f32).collect();
      let mut ring = Ring::new(capacity);
      let mut rest = stream.as_slice();
      for cut in lengths {
        let (now, later) = rest.split_at(cut);
        rest = later;
        ring.push(now);
      }
      let held = ring.held();
      prop_assert_eq!(held.end as usize, stream.len());
      prop_assert_eq!((held.end - held.start) as usize, stream.len().min(capacity));
      let (first, second) = ring.slices(held.clone());
      prop_assert_eq!([first, second].concat(), stream[held.start as usize..].to_vec());
    }
  }

  #[test]
  fn what_is_not_held_reads_as_silence() {
    let mut ring = Ring::new(4);
    ring.push(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let mut out = [9.0; 8];
    ring.read(0, &mut out);
    assert_eq!(out, [0.0, 0.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0]);
    ring.read(-20, &mut out);
    assert_eq!(out, [0.0; 8]);
  }

  #[test]
  fn what_is_forgotten_is_not_held() {
    let mut ring = Ring::new(4);
    ring.push(&[1.0, 2.0, 3.0]);
    ring.forget_before(2);
    assert_eq!(ring.held(), 2..3);
    ring.forget_before(9);
    assert_eq!(ring.held(), 3..3);
    ring.push(&[4.0]);
    assert_eq!(ring.slices(3..4), (&[4.0][..], &[][..]));
  }
}
