//! Chunks of any length become frames of one length, and integers become samples.

/// Cuts a stream into frames of one length, whatever lengths it arrives in.
#[derive(Debug, Clone)]
pub struct Framer {
  frame: Box<[f32]>,
  filled: usize,
  start: u64,
}

impl Framer {
  /// Frames of `length` samples.
  ///
  /// # Panics
  /// If `length` is 0.
  pub fn new(length: usize) -> Self {
    assert!(length > 0, "a frame has samples");
    Self { frame: vec![0.0; length].into_boxed_slice(), filled: 0, start: 0 }
  }

  /// Appends `samples` and calls `each` with every frame that they complete and the index of its first sample in the
  /// stream. The rest waits for the next call.
  pub fn push(&mut self, mut samples: &[f32], mut each: impl FnMut(u64, &[f32])) {
    while !samples.is_empty() {
      let taken = samples.len().min(self.frame.len() - self.filled);
      let (now, later) = samples.split_at(taken);
      self.frame[self.filled..self.filled + taken].copy_from_slice(now);
      self.filled += taken;
      samples = later;
      if self.filled == self.frame.len() {
        each(self.start, &self.frame);
        self.start += self.frame.len() as u64;
        self.filled = 0;
      }
    }
  }

  /// Samples that wait for their frame to be complete.
  pub fn pending(&self) -> &[f32] {
    &self.frame[..self.filled]
  }

  /// Samples pushed since the beginning or the last reset.
  pub fn position(&self) -> u64 {
    self.start + self.filled as u64
  }

  /// Forgets what waits and counts from 0 again.
  pub fn reset(&mut self) {
    self.filled = 0;
    self.start = 0;
  }
}

/// A 16-bit sample in -1..1.
pub fn from_i16(sample: i16) -> f32 {
  f32::from(sample) / 32_768.0
}

/// The nearest 16-bit sample; beyond full scale is clipped, not a number is silence.
pub fn to_i16(sample: f32) -> i16 {
  (sample * 32_768.0).round().clamp(-32_768.0, 32_767.0) as i16
}

#[cfg(test)]
mod tests {
  use super::*;
  use proptest::prelude::*;

  proptest! {
    #[test]
    fn frames_are_the_stream_in_order_however_it_is_cut(
      lengths in prop::collection::vec(0usize..50, 0..40), length in 1usize..20,
    ) {
      let stream: Vec<f32> = (0..lengths.iter().sum::<usize>()).map(|index| index as f32).collect();
      let mut framer = Framer::new(length);
      let (mut seen, mut rest) = (Vec::new(), stream.as_slice());
      for cut in lengths {
        let (now, later) = rest.split_at(cut);
        rest = later;
        framer.push(now, |start, frame| {
          assert_eq!((start as usize, frame.len()), (seen.len(), length));
          seen.extend_from_slice(frame);
        });
      }
      seen.extend_from_slice(framer.pending());
      prop_assert_eq!(framer.position() as usize, stream.len());
      prop_assert_eq!(seen, stream);
    }
  }

  #[test]
  fn every_16_bit_sample_survives_the_way_there_and_back() {
    assert!((i16::MIN..=i16::MAX).all(|sample| to_i16(from_i16(sample)) == sample));
  }

  #[test]
  fn samples_beyond_full_scale_are_clipped_and_nan_is_silence() {
    assert_eq!([2.0, -2.0, f32::INFINITY, f32::NAN].map(to_i16), [32_767, -32_768, 32_767, 0]);
  }
}
