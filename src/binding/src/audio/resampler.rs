//! Sample rate conversion.

use local_inference_audio::resample::Resampler;
use napi::bindgen_prelude::Float32Array;
use napi_derive::napi;

use super::{audio_to_js, finite, opened};

#[napi]
pub struct NativeResampler {
  inner: Option<Resampler>,
}

#[napi]
impl NativeResampler {
  #[napi(constructor)]
  pub fn new(from: u32, to: u32) -> napi::Result<Self> {
    Ok(Self { inner: Some(Resampler::new(from, to).map_err(audio_to_js)?) })
  }

  #[napi]
  pub fn push(&mut self, samples: &[f32]) -> napi::Result<Float32Array> {
    let resampler = opened("resampler", &mut self.inner)?;
    finite(samples)?;
    let mut out = Vec::with_capacity(resampler.most_output(samples.len()));
    resampler.push(samples, &mut out);
    Ok(Float32Array::new(out))
  }

  #[napi]
  pub fn finish(&mut self) -> napi::Result<Float32Array> {
    let resampler = opened("resampler", &mut self.inner)?;
    let mut out = Vec::with_capacity(resampler.most_output(0));
    resampler.finish(&mut out);
    Ok(Float32Array::new(out))
  }

  #[napi]
  pub fn reset(&mut self) -> napi::Result<()> {
    opened("resampler", &mut self.inner)?.reset();
    Ok(())
  }

  #[napi]
  pub fn close(&mut self) {
    self.inner = None;
  }
}
