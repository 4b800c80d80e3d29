//! Writes files that every program reads.

use super::{Encoding, Wav};

/// The header of `frames` samples of each channel; None: the length is not known yet, as in a pipe.
pub fn header(rate: u32, channels: u16, encoding: Encoding, frames: Option<u64>) -> Vec<u8> {
  let float = encoding.tag() == 3;
  let block = encoding.bytes() as u16 * channels;
  // Longer than the format can state: readers take it for unknown and read up to the end.
  let data = frames
    .and_then(|frames| u32::try_from(frames * u64::from(block)).ok())
    .filter(|data| *data < u32::MAX - 100)
    .unwrap_or(u32::MAX);
  let mut out = Vec::with_capacity(58);
  // Floating point needs an extension (of no bytes) and a `fact` chunk.
  let head: u32 = if float { 50 } else { 36 };
  out.extend(b"RIFF");
  out.extend(data.saturating_add(head).saturating_add(data % 2).to_le_bytes());
  out.extend(b"WAVEfmt ");
  out.extend((if float { 18u32 } else { 16 }).to_le_bytes());
  out.extend(encoding.tag().to_le_bytes());
  out.extend(channels.to_le_bytes());
  out.extend(rate.to_le_bytes());
  out.extend(rate.saturating_mul(u32::from(block)).to_le_bytes());
  out.extend(block.to_le_bytes());
  out.extend((encoding.bytes() as u16 * 8).to_le_bytes());
  if float {
    out.extend(0u16.to_le_bytes());
    out.extend(b"fact");
    out.extend(4u32.to_le_bytes());
    out.extend(frames.and_then(|frames| u32::try_from(frames).ok()).unwrap_or(u32::MAX).to_le_bytes());
  }
  out.extend(b"data");
  out.extend(data.to_le_bytes());
  out
}

/// A whole file.
pub fn write(sound: &Wav, encoding: Encoding) -> Vec<u8> {
  let frames = sound.samples.len() / usize::from(sound.channels.max(1));
  let mut out = header(sound.rate, sound.channels, encoding, Some(frames as u64));
  out.reserve(sound.samples.len() * encoding.bytes() + 1);
  encoding.encode(&sound.samples, &mut out);
  if out.len() % 2 == 1 {
    out.push(0);
  }
  out
}
