//! The minute of sound that the reference vectors are for; `vectors/make.py` puts the same one together.

use crate::models;
use local_inference_audio::wav;

const RATE: usize = 16_000;

fn recording(bytes: &[u8]) -> Vec<f32> {
  wav::read(bytes).expect("a WAV file").samples
}

/// The telephone call of two speakers, 30 s.
pub(crate) fn call() -> Vec<f32> {
  recording(&models::read("recordings/call.wav"))
}

/// A telephone call, a speech, synthetic music, silence, the call very softly.
pub(crate) fn minute() -> Vec<f32> {
  let call = call();
  let softly: Vec<f32> = call[5 * RATE..12 * RATE].iter().map(|sample| sample * 0.02).collect();
  let speech = recording(&models::read("recordings/speech.wav"));
  let music = recording(include_bytes!("../vectors/music.wav"));
  [call, speech, music, vec![0.0; 6 * RATE], softly].concat()
}

/// Numbers of a reference vector.
pub(crate) fn vector(bytes: &[u8]) -> Vec<f32> {
  bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// The largest difference of two lists of the same length.
pub(crate) fn worst(a: &[f32], b: &[f32]) -> f32 {
  assert_eq!(a.len(), b.len());
  a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}
