//! Wake words.

use local_inference_audio::Level;
use local_inference_audio::wake::{Detection, Features, Head, Phrase, WakeWords};
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;

use super::{Input, audio_to_js, opened, samples};
use crate::numbers::number;

#[napi(object, object_to_js = false)]
pub struct WakePhraseInput {
  pub head: Uint8Array,
  pub threshold: Option<f64>,
  pub refractory_ms: Option<f64>,
}

#[napi(object, object_from_js = false)]
pub struct WakeDetection {
  pub phrase: u32,
  pub score: f64,
  pub position: f64,
}

impl From<Detection> for WakeDetection {
  #[allow(clippy::cast_possible_truncation, reason = "an index of a short list")]
  fn from(detection: Detection) -> Self {
    let Detection { phrase, score, position } = detection;
    Self { phrase: phrase as u32, score: f64::from(score), position: number(position) }
  }
}

#[allow(clippy::cast_possible_truncation, reason = "a probability")]
fn phrase(input: &WakePhraseInput) -> napi::Result<Phrase> {
  const SECOND: u64 = 16_000;
  Ok(Phrase {
    head: Head::parse(&input.head, Level::best()).map_err(audio_to_js)?,
    threshold: input.threshold.map_or(0.5, |value| value as f32),
    refractory: samples("refractoryMs", input.refractory_ms, SECOND)?,
  })
}

#[napi]
pub struct NativeWakeWords {
  inner: Option<(Input, WakeWords)>,
}

#[napi]
impl NativeWakeWords {
  #[napi(constructor)]
  pub fn new(phrases: Vec<WakePhraseInput>, sample_rate: Option<u32>) -> napi::Result<Self> {
    let phrases = phrases.iter().map(phrase).collect::<napi::Result<Vec<_>>>()?;
    let features = Features::new().map_err(audio_to_js)?;
    let words = WakeWords::new(features, phrases).map_err(audio_to_js)?;
    Ok(Self { inner: Some((Input::new(sample_rate)?, words)) })
  }

  #[napi]
  pub fn push(&mut self, samples: &[f32]) -> napi::Result<Vec<WakeDetection>> {
    let (input, words) = opened("wake word detector", &mut self.inner)?;
    let mut out = Vec::new();
    words.push(input.floats(samples)?, |detection| out.push(detection.into())).map_err(audio_to_js)?;
    Ok(out)
  }

  #[napi]
  pub fn push_int16(&mut self, samples: &[i16]) -> napi::Result<Vec<WakeDetection>> {
    let (input, words) = opened("wake word detector", &mut self.inner)?;
    let mut out = Vec::new();
    words.push(input.integers(samples), |detection| out.push(detection.into())).map_err(audio_to_js)?;
    Ok(out)
  }

  /// The last score of each phrase, in their order.
  #[napi(getter)]
  pub fn scores(&mut self) -> napi::Result<Vec<f64>> {
    let (_, words) = opened("wake word detector", &mut self.inner)?;
    Ok(words.scores().map(f64::from).collect())
  }

  #[napi]
  pub fn reset(&mut self) -> napi::Result<()> {
    let (input, words) = opened("wake word detector", &mut self.inner)?;
    input.reset();
    words.reset();
    Ok(())
  }

  #[napi]
  pub fn close(&mut self) {
    self.inner = None;
  }
}
