//! Walks the chunks of a file and believes no length that it states.

use super::{Encoding, Wav};
use crate::error::{AudioError, Result};

/// Most channels: above, a header is taken for noise.
const MOST_CHANNELS: u16 = 256;
const EXTENSIBLE: u16 = 0xFFFE;
/// A length that programs write into a pipe, where they cannot go back to correct it.
const UNKNOWN: u32 = u32::MAX;

struct Format {
  encoding: Encoding,
  rate: u32,
  channels: u16,
}

/// Reads a whole file: PCM of 8, 16, 24 or 32 bits, floating point of 32 or 64, plain or `WAVE_FORMAT_EXTENSIBLE`, also
/// RF64. Chunks that are not needed are passed over. A length beyond the end of the file, 0 or unknown in the last chunk
/// means: up to the end. Fails with `InvalidInput` for everything else, saying what it is.
pub fn read(bytes: &[u8]) -> Result<Wav> {
  let form = bytes.get(..12).ok_or_else(|| not_wav("it is shorter than a header"))?;
  let large = &form[..4] == b"RF64" || &form[..4] == b"BW64";
  if !(large || &form[..4] == b"RIFF") || &form[8..12] != b"WAVE" {
    return Err(not_wav(describe(bytes)));
  }
  let mut format = None;
  let mut long_data = None;
  let mut rest = &bytes[12..];
  while let Some((id, length, body)) = chunk(rest) {
    match id {
      b"fmt " => format = Some(read_format(&body[..body.len().min(length as usize)])?),
      b"ds64" => long_data = body.get(8..16).map(u64_of),
      b"data" => {
        let format = format.ok_or_else(|| not_wav("its samples come before their format"))?;
        return Ok(read_data(&format, &body[..data_length(length, long_data, body)]));
      }
      _ => {}
    }
    // Chunks begin at even offsets.
    let next = (length as usize).saturating_add(length as usize % 2);
    rest = body.get(next..).unwrap_or_default();
  }
  Err(not_wav(if format.is_some() {
    "it has no samples (no `data` chunk)"
  } else {
    "it has no `fmt ` chunk"
  }))
}

/// The identifier, the stated length and all bytes after the head of the chunk at the front.
fn chunk(bytes: &[u8]) -> Option<(&[u8; 4], u32, &[u8])> {
  let (id, rest) = bytes.split_first_chunk::<4>()?;
  let (length, body) = rest.split_first_chunk::<4>()?;
  Some((id, u32::from_le_bytes(*length), body))
}

fn read_format(body: &[u8]) -> Result<Format> {
  let field = |at: usize| body.get(at..at + 2).map(|two| u16::from_le_bytes([two[0], two[1]]));
  let (Some(tag), Some(channels), Some(low), Some(high), Some(block), Some(bits)) =
    (field(0), field(2), field(4), field(6), field(12), field(14))
  else {
    return Err(not_wav("its `fmt ` chunk is cut short"));
  };
  let rate = u32::from(low) | u32::from(high) << 16;
  if channels == 0 || channels > MOST_CHANNELS {
    return Err(not_wav(&format!("it states {channels} channels")));
  }
  if rate == 0 {
    return Err(not_wav("it states a rate of 0 samples a second"));
  }
  // The true tag of an extensible format is the beginning of its sub-format; old programs leave the extension out.
  let tag = if tag == EXTENSIBLE { field(24).unwrap_or(1) } else { tag };
  // The room that a sample takes counts, not its bits: 20 bits lie in 3 bytes. Some programs leave the room out.
  let bytes = if block > 0 && block % channels == 0 { block / channels } else { bits.div_ceil(8) };
  Ok(Format { encoding: Encoding::of(tag, bytes)?, rate, channels })
}

fn data_length(stated: u32, long: Option<u64>, body: &[u8]) -> usize {
  let stated = match (stated, long) {
    (0, _) | (UNKNOWN, None) => u64::MAX,
    (UNKNOWN, Some(long)) => long,
    (stated, _) => u64::from(stated),
  };
  usize::try_from(stated).unwrap_or(usize::MAX).min(body.len())
}

fn read_data(format: &Format, data: &[u8]) -> Wav {
  let frame = format.encoding.bytes() * usize::from(format.channels);
  let whole = &data[..data.len() - data.len() % frame];
  let mut samples = Vec::with_capacity(whole.len() / format.encoding.bytes());
  format.encoding.decode(whole, &mut samples);
  Wav { rate: format.rate, channels: format.channels, samples }
}

fn u64_of(bytes: &[u8]) -> u64 {
  bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn describe(bytes: &[u8]) -> &'static str {
  match bytes {
    [b'R', b'I', b'F', b'X', ..] => "it is a big-endian RIFX file",
    [b'I', b'D', b'3', ..] | [0xFF, 0xE0..=0xFF, ..] => "it looks like MP3",
    [b'O', b'g', b'g', b'S', ..] => "it is an Ogg file",
    [b'f', b'L', b'a', b'C', ..] => "it is a FLAC file",
    [b'F', b'O', b'R', b'M', ..] => "it is an AIFF file",
    [_, _, _, _, b'f', b't', b'y', b'p', ..] => "it is an MP4 file",
    _ => "it does not begin with RIFF and WAVE",
  }
}

fn not_wav(reason: &str) -> AudioError {
  AudioError::invalid(format!("not a WAV file that can be read: {reason}"))
}
