//! WAV files as programs write them, and as they arrive when something broke.

use local_inference_audio::error::AudioErrorKind;
use local_inference_audio::wav::{Encoding, Wav, header, read, write};
use proptest::prelude::*;

const ENCODINGS: [(Encoding, f32); 6] = [
  (Encoding::Pcm8, 1.0 / 256.0),
  (Encoding::Pcm16, 1.0 / 65_536.0),
  (Encoding::Pcm24, 1.0 / 16_777_216.0),
  (Encoding::Pcm32, 6e-8),
  (Encoding::Float32, 0.0),
  (Encoding::Float64, 0.0),
];

fn sound() -> Wav {
  Wav {
    rate: 16_000,
    channels: 1,
    samples: (0u16..500).map(|index| (f32::from(index) * 0.37).sin() * 0.9).collect(),
  }
}

fn chunk(id: &[u8; 4], body: &[u8]) -> Vec<u8> {
  let mut out = id.to_vec();
  out.extend((body.len() as u32).to_le_bytes());
  out.extend(body);
  if body.len() % 2 == 1 {
    out.push(0);
  }
  out
}

fn riff(chunks: &[Vec<u8>]) -> Vec<u8> {
  let body = chunks.concat();
  [b"RIFF".as_slice(), &(body.len() as u32 + 4).to_le_bytes(), b"WAVE", &body].concat()
}

fn format(tag: u16, channels: u16, bits: u16) -> Vec<u8> {
  let block = channels * bits.div_ceil(8);
  let mut out = Vec::new();
  out.extend(tag.to_le_bytes());
  out.extend(channels.to_le_bytes());
  out.extend(16_000u32.to_le_bytes());
  out.extend((16_000 * u32::from(block)).to_le_bytes());
  out.extend(block.to_le_bytes());
  out.extend(bits.to_le_bytes());
  out
}

fn pcm16(samples: &[i16]) -> Vec<u8> {
  samples.iter().flat_map(|sample| sample.to_le_bytes()).collect()
}

const SAMPLES: [i16; 5] = [0, 16_384, -16_384, 32_767, -32_768];
const READ: [f32; 5] = [0.0, 0.5, -0.5, 32_767.0 / 32_768.0, -1.0];

#[test]
fn what_is_written_is_read_back_within_half_a_step() {
  for (encoding, step) in ENCODINGS {
    let back = read(&write(&sound(), encoding)).expect("just written");
    assert_eq!((back.rate, back.channels, back.samples.len()), (16_000, 1, 500));
    for (a, b) in sound().samples.iter().zip(&back.samples) {
      assert!((a - b).abs() <= step, "{encoding:?}: {a} became {b}");
    }
  }
}

#[test]
fn integers_are_written_clipped_and_nan_as_silence() {
  let loud = Wav { rate: 8_000, channels: 1, samples: vec![3.0, -3.0, f32::NAN, f32::INFINITY] };
  for (encoding, step) in ENCODINGS.into_iter().take(4) {
    let back = read(&write(&loud, encoding)).expect("just written").samples;
    assert!(back[0] >= 1.0 - 3.0 * step && back[0] <= 1.0, "{encoding:?}");
    assert_eq!((back[1], back[2]), (-1.0, 0.0), "{encoding:?}");
  }
}

#[test]
fn chunks_that_are_not_needed_are_passed_over_also_those_of_odd_length() {
  let file = riff(&[
    chunk(b"JUNK", &[7; 29]),
    chunk(b"fmt ", &format(1, 1, 16)),
    chunk(b"LIST", b"INFOISFT\x03\0\0\0odd"),
    chunk(b"fact", &[0; 4]),
    chunk(b"data", &pcm16(&SAMPLES)),
    chunk(b"id3 ", &[1; 11]),
  ]);
  assert_eq!(read(&file).expect("a common file").samples, READ);
}

#[test]
fn lengths_that_a_pipe_left_open_mean_up_to_the_end() {
  for stated in [0u32, u32::MAX, 0x7FFF_FFFF, 1_000_000] {
    let mut file = riff(&[chunk(b"fmt ", &format(1, 1, 16)), chunk(b"data", &pcm16(&SAMPLES))]);
    file[4..8].copy_from_slice(&stated.to_le_bytes());
    file[40..44].copy_from_slice(&stated.to_le_bytes());
    assert_eq!(read(&file).expect("a streamed file").samples, READ, "stated {stated}");
  }
}

#[test]
fn a_header_for_a_stream_is_read_with_all_that_follows() {
  for encoding in [Encoding::Pcm16, Encoding::Float32] {
    let mut file = header(24_000, 2, encoding, None);
    file.extend(&write(&sound(), encoding)[header(1, 1, encoding, Some(0)).len()..]);
    let back = read(&file).expect("a streamed file");
    assert_eq!((back.rate, back.channels, back.samples.len()), (24_000, 2, 500));
  }
}

#[test]
fn extensible_formats_are_read_with_and_without_their_extension() {
  let sub_format = |tag: u16| {
    let mut out = format(0xFFFE, 1, if tag == 3 { 32 } else { 16 });
    out.extend(22u16.to_le_bytes());
    out.extend([16, 0, 4, 0, 0, 0]);
    out.extend(tag.to_le_bytes());
    out.extend([0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]);
    out
  };
  let integers = riff(&[chunk(b"fmt ", &sub_format(1)), chunk(b"data", &pcm16(&SAMPLES))]);
  assert_eq!(read(&integers).expect("extensible").samples, READ);
  let floats: Vec<u8> = READ.iter().flat_map(|sample| sample.to_le_bytes()).collect();
  let floats = riff(&[chunk(b"fmt ", &sub_format(3)), chunk(b"data", &floats)]);
  assert_eq!(read(&floats).expect("extensible").samples, READ);
  let cut = riff(&[chunk(b"fmt ", &format(0xFFFE, 1, 16)), chunk(b"data", &pcm16(&SAMPLES))]);
  assert_eq!(read(&cut).expect("extensible in name only").samples, READ);
}

#[test]
fn twenty_bits_in_three_bytes_and_a_missing_block_size_are_understood() {
  let mut twenty = format(1, 1, 20);
  twenty[12..14].copy_from_slice(&3u16.to_le_bytes());
  let file = riff(&[chunk(b"fmt ", &twenty), chunk(b"data", &[0, 0, 0x40, 0, 0, 0xC0])]);
  assert_eq!(read(&file).expect("20 bits").samples, [0.5, -0.5]);
  let mut no_block = format(1, 2, 16);
  no_block[12..14].copy_from_slice(&0u16.to_le_bytes());
  let file = riff(&[chunk(b"fmt ", &no_block), chunk(b"data", &pcm16(&SAMPLES[..4]))]);
  assert_eq!(read(&file).expect("no block size").samples, READ[..4]);
}

#[test]
fn rf64_files_state_their_length_in_a_chunk_of_its_own() {
  let ds64: Vec<u8> = [0u64, 10, 5].iter().flat_map(|value| value.to_le_bytes()).collect();
  let body =
    [chunk(b"ds64", &ds64), chunk(b"fmt ", &format(1, 1, 16)), chunk(b"data", &pcm16(&SAMPLES))].concat();
  let mut file = [b"RF64".as_slice(), &u32::MAX.to_le_bytes(), b"WAVE", &body].concat();
  let at = file.len() - 14;
  file[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
  file.extend(chunk(b"LIST", b"INFO"));
  assert_eq!(read(&file).expect("RF64").samples, READ);
}

#[test]
fn the_part_of_a_sample_at_the_end_of_a_cut_file_is_left_out() {
  let file = riff(&[chunk(b"fmt ", &format(1, 2, 16)), chunk(b"data", &pcm16(&SAMPLES[..4]))]);
  assert_eq!(read(&file[..file.len() - 1]).expect("cut").samples, READ[..2]);
}

#[test]
fn a_file_without_samples_is_an_empty_sound() {
  let file = riff(&[chunk(b"fmt ", &format(1, 1, 16)), chunk(b"data", &[])]);
  assert_eq!(read(&file).expect("empty").samples, Vec::<f32>::new());
}

#[test]
fn other_files_are_refused_by_name() {
  for (bytes, word) in [
    (b"ID3\x04 and an MP3 follows".as_slice(), "MP3"),
    (b"OggS and more of a stream".as_slice(), "Ogg"),
    (b"fLaC and more of a stream".as_slice(), "FLAC"),
    (b"\0\0\0\x20ftypM4A and more".as_slice(), "MP4"),
    (b"RIFX\0\0\0\x20WAVEfmt and more".as_slice(), "big-endian"),
    (b"RIFF".as_slice(), "shorter"),
    (b"".as_slice(), "shorter"),
  ] {
    let error = read(bytes).expect_err("not a WAV file");
    assert_eq!(error.kind(), AudioErrorKind::InvalidInput);
    assert!(error.to_string().contains(word), "{error}");
  }
  for (tag, bits, word) in
    [(6, 8, "A-law"), (7, 8, "mu-law"), (2, 4, "ADPCM"), (85, 0, "MPEG"), (1, 40, "bytes")]
  {
    let file = riff(&[chunk(b"fmt ", &format(tag, 1, bits)), chunk(b"data", &[0; 40])]);
    let error = read(&file).expect_err("an encoding that is not read").to_string();
    assert!(error.contains(word), "{error}");
  }
}

#[test]
fn headers_that_make_no_sense_are_refused_with_what_is_wrong() {
  let with = |body: &[u8]| {
    read(&riff(&[chunk(b"fmt ", body), chunk(b"data", &[0; 8])])).expect_err("refused").to_string()
  };
  assert!(with(&format(1, 0, 16)).contains("0 channels"));
  assert!(with(&format(1, 1000, 16)).contains("1000 channels"));
  assert!(with(&format(1, 1, 16)[..10]).contains("cut short"));
  let mut silent = format(1, 1, 16);
  silent[4..8].fill(0);
  assert!(with(&silent).contains("rate of 0"));
  assert!(
    read(&riff(&[chunk(b"data", &[0; 8])]))
      .expect_err("no format")
      .to_string()
      .contains("before their format")
  );
  assert!(
    read(&riff(&[chunk(b"fmt ", &format(1, 1, 16))]))
      .expect_err("no data")
      .to_string()
      .contains("no samples")
  );
}

proptest! {
  #[test]
  fn no_damage_of_a_file_is_worse_than_an_error(
    cut in 0usize..200, changes in prop::collection::vec((0usize..60, any::<u8>()), 0..6), encoding in 0usize..6,
  ) {
    let mut file = write(&sound(), ENCODINGS[encoding].0);
    for (at, byte) in changes {
      file[at] = byte;
    }
    if let Ok(sound) = read(&file[..file.len().min(cut)]) {
      prop_assert!(sound.samples.len() <= cut);
    }
    if let Ok(sound) = read(&file) {
      prop_assert!(sound.samples.len() <= file.len());
    }
  }
}

#[test]
fn mono_is_the_mean_of_all_channels() {
  let stereo = Wav { rate: 8_000, channels: 2, samples: vec![1.0, 0.0, -0.5, 0.5] };
  assert_eq!(stereo.to_mono(), [0.5, 0.0]);
  assert!((stereo.seconds() - 2.0 / 8_000.0).abs() < 1e-12);
}
