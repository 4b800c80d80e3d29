//! WAV files.

use local_inference_audio::wav;
use napi::bindgen_prelude::{Float32Array, Uint8Array};
use napi_derive::napi;

use super::audio_to_js;

#[napi(object, object_from_js = false)]
pub struct WavSound {
  pub sample_rate: u32,
  pub channels: u32,
  pub samples: Float32Array,
}

/// The sound of a whole file, mixed down to one channel.
#[napi]
pub fn read_wav(bytes: Uint8Array) -> napi::Result<WavSound> {
  let sound = wav::read(&bytes).map_err(audio_to_js)?;
  let samples = Float32Array::new(sound.to_mono());
  Ok(WavSound { sample_rate: sound.rate, channels: u32::from(sound.channels), samples })
}
