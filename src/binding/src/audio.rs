//! Hearing for JavaScript: synchronous calls, because a call costs less than handing it to a thread.

mod resampler;
mod vad;
mod wake_words;
mod wav;

use local_inference_audio::error::{AudioError, AudioErrorKind};
use local_inference_audio::frame::from_i16;
use local_inference_audio::resample::Resampler;
use local_inference_core::error::{EngineError, ErrorCode};

use crate::error::{closed, to_js};

/// What arrives from JavaScript, as samples at 16 kHz.
struct Input {
  resampler: Option<Resampler>,
  samples: Vec<f32>,
  converted: Vec<f32>,
}

const RATE: u32 = 16_000;

impl Input {
  fn new(rate: Option<u32>) -> napi::Result<Self> {
    let rate = rate.unwrap_or(RATE);
    let resampler = if rate == RATE { None } else { Some(Resampler::new(rate, RATE).map_err(audio_to_js)?) };
    Ok(Self { resampler, samples: Vec::new(), converted: Vec::new() })
  }

  fn floats(&mut self, samples: &[f32]) -> napi::Result<&[f32]> {
    finite(samples)?;
    match &mut self.resampler {
      None => {
        self.samples.clear();
        self.samples.extend_from_slice(samples);
        Ok(&self.samples)
      }
      Some(resampler) => {
        self.converted.clear();
        resampler.push(samples, &mut self.converted);
        Ok(&self.converted)
      }
    }
  }

  fn integers(&mut self, samples: &[i16]) -> &[f32] {
    self.samples.clear();
    self.samples.extend(samples.iter().copied().map(from_i16));
    match &mut self.resampler {
      None => &self.samples,
      Some(resampler) => {
        self.converted.clear();
        resampler.push(&self.samples, &mut self.converted);
        &self.converted
      }
    }
  }

  /// What the resampler still holds, at the end of a stream.
  fn rest(&mut self) -> &[f32] {
    self.converted.clear();
    if let Some(resampler) = &mut self.resampler {
      resampler.finish(&mut self.converted);
    }
    &self.converted
  }

  fn reset(&mut self) {
    if let Some(resampler) = &mut self.resampler {
      resampler.reset();
    }
  }
}

/// Before the resampler, which would spread what is not a number.
fn finite(samples: &[f32]) -> napi::Result<()> {
  match samples.iter().position(|sample| !sample.is_finite()) {
    None => Ok(()),
    Some(at) => {
      let message = format!("sample {at} is {}: leave the chunk out, or replace it by silence", samples[at]);
      Err(to_js(EngineError::new(ErrorCode::InvalidInput, message)))
    }
  }
}

fn audio_to_js(error: AudioError) -> napi::Error {
  let code = match error.kind() {
    AudioErrorKind::ModelInvalid => ErrorCode::ModelInvalid,
    AudioErrorKind::ModelUnsupported => ErrorCode::ModelUnsupported,
    _ => ErrorCode::InvalidInput,
  };
  to_js(EngineError::new(code, error.to_string()))
}

/// What is in use until it is closed.
fn opened<'a, T>(what: &str, inner: &'a mut Option<T>) -> napi::Result<&'a mut T> {
  inner.as_mut().ok_or_else(|| to_js(closed(what)))
}

/// Milliseconds as samples at 16 kHz.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
fn samples(name: &str, milliseconds: Option<f64>, default: u64) -> napi::Result<u64> {
  const MOST: f64 = 3_600_000.0;
  match milliseconds {
    None => Ok(default),
    Some(value) if (0.0..=MOST).contains(&value) => Ok((value * f64::from(RATE) / 1000.0) as u64),
    Some(value) => {
      let message = format!("{name} is {value}: give milliseconds from 0 to {MOST}");
      Err(to_js(EngineError::new(ErrorCode::InvalidInput, message)))
    }
  }
}
