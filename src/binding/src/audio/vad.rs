//! Voice activity.

use local_inference_audio::ring::Ring;
use local_inference_audio::vad::{Change, Event, Network, SegmentRules, Vad, Version};
use local_inference_core::error::{EngineError, ErrorCode};
use napi::bindgen_prelude::Float32Array;
use napi_derive::napi;

use super::{Input, RATE, audio_to_js, opened, samples};
use crate::error::to_js;
use crate::numbers::number;

#[napi(object, object_to_js = false)]
pub struct VadInput {
  pub sample_rate: Option<u32>,
  #[napi(ts_type = "\"v5\" | \"v6\"")]
  pub model: Option<String>,
  pub onset: Option<f64>,
  pub offset: Option<f64>,
  pub min_speech_ms: Option<f64>,
  pub hang_over_ms: Option<f64>,
  pub pre_roll_ms: Option<f64>,
  pub post_roll_ms: Option<f64>,
  pub max_speech_ms: Option<f64>,
}

#[napi(object, object_from_js = false)]
pub struct VadEventRecord {
  #[napi(ts_type = "\"window\" | \"start\" | \"end\" | \"dropped\"")]
  pub kind: &'static str,
  pub start: f64,
  pub end: f64,
  pub speech_start: Option<f64>,
  pub speech_end: Option<f64>,
  pub probability: Option<f64>,
  pub cut: Option<bool>,
  pub audio: Option<Float32Array>,
}

const WINDOW: u64 = local_inference_audio::vad::WINDOW as u64;

fn record(event: &Event, ring: &Ring) -> VadEventRecord {
  let of = |kind, start, end| VadEventRecord {
    kind,
    start: number(start),
    end: number(end),
    speech_start: None,
    speech_end: None,
    probability: None,
    cut: None,
    audio: None,
  };
  match event {
    Event::Window { start, probability } => {
      VadEventRecord { probability: Some(f64::from(*probability)), ..of("window", *start, start + WINDOW) }
    }
    Event::Change(Change::Started { start, speech }) => {
      VadEventRecord { speech_start: Some(number(*speech)), ..of("start", *start, ring.end()) }
    }
    Event::Change(Change::Ended { sound, speech, cut }) => {
      let (first, second) = ring.slices(sound.clone());
      VadEventRecord {
        speech_start: Some(number(speech.start)),
        speech_end: Some(number(speech.end)),
        cut: Some(*cut),
        audio: Some(Float32Array::new([first, second].concat())),
        ..of("end", sound.start, sound.end)
      }
    }
    Event::Change(Change::Dropped { speech }) => of("dropped", speech.start, speech.end),
  }
}

#[allow(clippy::cast_possible_truncation, reason = "probabilities")]
fn rules(input: &VadInput) -> napi::Result<SegmentRules> {
  let usual = SegmentRules::new(RATE);
  Ok(SegmentRules {
    onset: input.onset.map_or(usual.onset, |value| value as f32),
    offset: input.offset.map_or(usual.offset, |value| value as f32),
    min_speech: samples("minSpeechMs", input.min_speech_ms, usual.min_speech)?,
    hang_over: samples("hangOverMs", input.hang_over_ms, usual.hang_over)?,
    pre_roll: samples("preRollMs", input.pre_roll_ms, usual.pre_roll)?,
    post_roll: samples("postRollMs", input.post_roll_ms, usual.post_roll)?,
    longest: samples("maxSpeechMs", input.max_speech_ms, usual.longest)?,
  })
}

#[napi]
pub struct NativeVad {
  inner: Option<(Input, Vad)>,
}

#[napi]
impl NativeVad {
  #[napi(constructor)]
  pub fn new(input: VadInput) -> napi::Result<Self> {
    let version = match input.model.as_deref() {
      None | Some("v6") => Version::V6,
      Some("v5") => Version::V5,
      Some(other) => {
        let message = format!("model must be v5 or v6, got {other}");
        return Err(to_js(EngineError::new(ErrorCode::InvalidInput, message)));
      }
    };
    let network = Network::new(version).map_err(audio_to_js)?;
    let vad = Vad::new(network, rules(&input)?).map_err(audio_to_js)?;
    Ok(Self { inner: Some((Input::new(input.sample_rate)?, vad)) })
  }

  #[napi]
  pub fn push(&mut self, samples: &[f32]) -> napi::Result<Vec<VadEventRecord>> {
    let (input, vad) = opened("voice activity detector", &mut self.inner)?;
    let mut out = Vec::new();
    vad.push(input.floats(samples)?, |event, ring| out.push(record(event, ring))).map_err(audio_to_js)?;
    Ok(out)
  }

  #[napi]
  pub fn push_int16(&mut self, samples: &[i16]) -> napi::Result<Vec<VadEventRecord>> {
    let (input, vad) = opened("voice activity detector", &mut self.inner)?;
    let mut out = Vec::new();
    vad.push(input.integers(samples), |event, ring| out.push(record(event, ring))).map_err(audio_to_js)?;
    Ok(out)
  }

  #[napi]
  pub fn finish(&mut self) -> napi::Result<Vec<VadEventRecord>> {
    let (input, vad) = opened("voice activity detector", &mut self.inner)?;
    let mut out = Vec::new();
    vad.push(input.rest(), |event, ring| out.push(record(event, ring))).map_err(audio_to_js)?;
    vad.finish(|event, ring| out.push(record(event, ring))).map_err(audio_to_js)?;
    Ok(out)
  }

  #[napi]
  pub fn reset(&mut self) -> napi::Result<()> {
    let (input, vad) = opened("voice activity detector", &mut self.inner)?;
    input.reset();
    vad.reset();
    Ok(())
  }

  #[napi(getter)]
  pub fn speaking(&self) -> bool {
    self.inner.as_ref().is_some_and(|(_, vad)| vad.is_speaking())
  }

  #[napi]
  pub fn close(&mut self) {
    self.inner = None;
  }
}
