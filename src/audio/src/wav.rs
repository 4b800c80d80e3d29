//! WAV files: reading what recorders, pipes and old programs write, and writing what everybody reads.

mod encoding;
mod read;
mod write;

pub use encoding::Encoding;
pub use read::read;
pub use write::{header, write};

/// Sound with its rate and its channels.
#[derive(Debug, Clone, PartialEq)]
pub struct Wav {
  /// Samples a second of each channel.
  pub rate: u32,
  /// Channels, 1 or more.
  pub channels: u16,
  /// One sample of each channel, then the next of each.
  pub samples: Vec<f32>,
}

impl Wav {
  /// The mean of all channels.
  pub fn to_mono(&self) -> Vec<f32> {
    if self.channels == 1 {
      return self.samples.clone();
    }
    let share = 1.0 / f32::from(self.channels);
    self
      .samples
      .chunks_exact(usize::from(self.channels))
      .map(|frame| frame.iter().sum::<f32>() * share)
      .collect()
  }

  /// Length in seconds.
  pub fn seconds(&self) -> f64 {
    (self.samples.len() / usize::from(self.channels.max(1))) as f64 / f64::from(self.rate.max(1))
  }
}
