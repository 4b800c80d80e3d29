//! How samples lie in a file.

use crate::error::{AudioError, AudioErrorKind, Result};

/// The form of one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
  /// Unsigned, 128 is silence.
  Pcm8,
  /// Signed, little-endian.
  Pcm16,
  /// Signed, little-endian, three bytes.
  Pcm24,
  /// Signed, little-endian.
  Pcm32,
  /// IEEE single precision.
  Float32,
  /// IEEE double precision.
  Float64,
}

impl Encoding {
  /// The encoding of a `fmt` chunk's tag and the bytes that a sample takes.
  pub(super) fn of(tag: u16, bytes: u16) -> Result<Self> {
    match (tag, bytes) {
      (1, 1) => Ok(Self::Pcm8),
      (1, 2) => Ok(Self::Pcm16),
      (1, 3) => Ok(Self::Pcm24),
      (1, 4) => Ok(Self::Pcm32),
      (3, 4) => Ok(Self::Float32),
      (3, 8) => Ok(Self::Float64),
      _ => Err(refusal(tag, bytes)),
    }
  }

  /// Bytes of one sample.
  pub const fn bytes(self) -> usize {
    match self {
      Self::Pcm8 => 1,
      Self::Pcm16 => 2,
      Self::Pcm24 => 3,
      Self::Pcm32 | Self::Float32 => 4,
      Self::Float64 => 8,
    }
  }

  /// The tag of a `fmt` chunk: 1 integers, 3 floating point.
  pub(super) const fn tag(self) -> u16 {
    match self {
      Self::Pcm8 | Self::Pcm16 | Self::Pcm24 | Self::Pcm32 => 1,
      Self::Float32 | Self::Float64 => 3,
    }
  }

  /// Appends the samples in `bytes`; a part of a sample at the end is left out.
  pub(super) fn decode(self, bytes: &[u8], out: &mut Vec<f32>) {
    match self {
      Self::Pcm8 => out.extend(bytes.iter().map(|byte| (f32::from(*byte) - 128.0) / 128.0)),
      Self::Pcm16 => each(bytes, out, |bytes| f32::from(i16::from_le_bytes(bytes)) / 32_768.0),
      Self::Pcm24 => each(bytes, out, |[low, middle, high]: [u8; 3]| {
        (i32::from_le_bytes([0, low, middle, high]) >> 8) as f32 / 8_388_608.0
      }),
      Self::Pcm32 => {
        each(bytes, out, |bytes| (f64::from(i32::from_le_bytes(bytes)) / 2_147_483_648.0) as f32);
      }
      Self::Float32 => each(bytes, out, f32::from_le_bytes),
      Self::Float64 => each(bytes, out, |bytes| f64::from_le_bytes(bytes) as f32),
    }
  }

  /// Appends `samples`; integers are rounded and clipped, and what is not a number becomes silence.
  pub(super) fn encode(self, samples: &[f32], out: &mut Vec<u8>) {
    let scaled = |sample: f32, bits: u32| {
      let full = f64::from(1u32 << (bits - 1));
      (f64::from(sample) * full).round().clamp(-full, full - 1.0) as i32
    };
    for sample in samples.iter().copied() {
      match self {
        Self::Pcm8 => out.push((scaled(sample, 8) + 128) as u8),
        Self::Pcm16 => out.extend((scaled(sample, 16) as i16).to_le_bytes()),
        Self::Pcm24 => out.extend(&scaled(sample, 24).to_le_bytes()[..3]),
        Self::Pcm32 => out.extend(scaled(sample, 32).to_le_bytes()),
        Self::Float32 => out.extend(sample.to_le_bytes()),
        Self::Float64 => out.extend(f64::from(sample).to_le_bytes()),
      }
    }
  }
}

fn each<const N: usize>(bytes: &[u8], out: &mut Vec<f32>, decode: impl Fn([u8; N]) -> f32) {
  out.extend(bytes.as_chunks::<N>().0.iter().map(|bytes| decode(*bytes)));
}

fn refusal(tag: u16, bytes: u16) -> AudioError {
  let name = match tag {
    1 | 3 => {
      return AudioError::invalid(format!("a WAV file with samples of {bytes} bytes: none has that form"));
    }
    2 => "Microsoft ADPCM",
    6 => "A-law",
    7 => "mu-law",
    17 => "IMA ADPCM",
    49 => "GSM 6.10",
    80 | 85 => "MPEG",
    _ => "an unknown encoding",
  };
  let message =
    format!("a WAV file with {name} (format tag {tag}): convert it to PCM or floating point first");
  AudioError::new(AudioErrorKind::InvalidInput, message)
}
