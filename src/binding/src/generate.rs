//! The options of a generation, from JavaScript.

use local_inference_core::decoder::Token;
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::options::Speculative;
use local_inference_core::options::{
  ContextFull, Dry, GenerateOptions, Mirostat, QueueOptions, SamplingOptions, Xtc,
};
use local_inference_core::speculate::Limits;
use local_inference_core::text::TextOptions;
use napi::bindgen_prelude::{ClassInstance, Either, Uint32Array};
use napi_derive::napi;

use crate::chat::RenderedChat;
use crate::constraint::{self, ConstraintInput};
use crate::numbers::{duration, signed, whole};

#[napi(object, object_to_js = false)]
pub struct LogitBias {
  pub token: f64,
  pub bias: f64,
}

/// Limits of the drafts of a request.
#[napi(object, object_to_js = false)]
pub struct SpeculativeWindow {
  pub min: f64,
  pub max: f64,
  pub adaptive: Option<bool>,
}

#[napi(object, object_to_js = false)]
pub struct GenerateInput<'env> {
  pub prompt: Option<String>,
  pub prompt_tokens: Option<Uint32Array>,
  pub parse_special: Option<bool>,
  #[napi(ts_type = "RenderedChat")]
  pub chat: Option<ClassInstance<'env, RenderedChat>>,
  pub prefill: Option<String>,
  pub max_tokens: Option<f64>,
  pub min_tokens: Option<f64>,
  pub temperature: Option<f64>,
  pub top_p: Option<f64>,
  pub top_k: Option<f64>,
  pub min_p: Option<f64>,
  pub typical_p: Option<f64>,
  pub repetition_penalty: Option<f64>,
  pub frequency_penalty: Option<f64>,
  pub presence_penalty: Option<f64>,
  pub penalty_window: Option<f64>,
  pub seed: Option<f64>,
  pub dry_multiplier: Option<f64>,
  pub dry_base: Option<f64>,
  pub dry_allowed_length: Option<f64>,
  pub dry_window: Option<f64>,
  pub dry_sequence_breakers: Option<Vec<String>>,
  pub xtc_probability: Option<f64>,
  pub xtc_threshold: Option<f64>,
  #[napi(ts_type = "0 | 1 | 2")]
  pub mirostat: Option<f64>,
  pub mirostat_tau: Option<f64>,
  pub mirostat_eta: Option<f64>,
  pub logit_bias: Option<Vec<LogitBias>>,
  pub stops: Option<Vec<String>>,
  pub logprobs: Option<f64>,
  pub grammar: Option<String>,
  pub constraint: Option<ConstraintInput>,
  pub ignore_eos: Option<bool>,
  #[napi(ts_type = "\"off\" | \"auto\" | SpeculativeWindow")]
  pub speculative: Option<Either<String, SpeculativeWindow>>,
  #[napi(ts_type = "\"interactive\" | \"normal\" | \"background\"")]
  pub lane: Option<String>,
  pub queue_timeout_ms: Option<f64>,
  pub conversation: Option<String>,
  #[napi(ts_type = "\"stop\" | \"error\" | \"shift\"")]
  pub context_full: Option<String>,
  pub keep_tokens: Option<f64>,
  pub prewarm: Option<bool>,
}

/// What to continue.
pub(crate) enum Prompt {
  Tokens(Vec<Token>),
  Text { text: String, rendered: bool },
}

impl GenerateInput<'_> {
  /// The prompt and the options; ranges are the engine's to check, whole numbers and tokens are checked here.
  pub(crate) fn split(self, vocabulary_size: u32) -> Result<(Prompt, GenerateOptions)> {
    let defaults = GenerateOptions::default();
    let mut options = GenerateOptions {
      max_tokens: whole("maxTokens", self.max_tokens)?,
      min_tokens: whole("minTokens", self.min_tokens)?.unwrap_or(0),
      sampling: sampling(&self)?,
      text: TextOptions { stops: self.stops.unwrap_or_default(), reasoning: None },
      constraint: constraint::of(self.constraint, self.grammar)?,
      logprobs: whole("logprobs", self.logprobs)?,
      ignore_eos: self.ignore_eos.unwrap_or(defaults.ignore_eos),
      preserved_tokens: Vec::new(),
      speculative: speculative(self.speculative)?,
      queue: QueueOptions {
        lane: self.lane.map(|text| text.parse()).transpose()?.unwrap_or_default(),
        timeout: duration("queueTimeoutMs", self.queue_timeout_ms)?,
        conversation: self.conversation,
        context_full: context_full(self.context_full.as_deref(), whole("keepTokens", self.keep_tokens)?)?,
        prewarm: self.prewarm.unwrap_or_default(),
      },
    };
    let prefill = self.prefill.unwrap_or_default();
    let prompt = match (self.prompt, self.prompt_tokens, self.chat) {
      (Some(text), None, None) => {
        Prompt::Text { text: text + &prefill, rendered: self.parse_special.unwrap_or(false) }
      }
      (None, Some(tokens), None) if prefill.is_empty() => Prompt::Tokens(
        tokens.iter().map(|&token| check_token(token, vocabulary_size)).collect::<Result<_>>()?,
      ),
      (None, None, Some(chat)) => {
        let chat = chat.rendered();
        chat.rules.apply(&mut options, !prefill.is_empty());
        Prompt::Text { text: format!("{}{prefill}", chat.prompt), rendered: true }
      }
      _ => {
        let message = "give one of prompt, promptTokens and chat; promptTokens takes no prefill";
        return Err(EngineError::new(ErrorCode::InvalidInput, message));
      }
    };
    Ok((prompt, options))
  }
}

fn context_full(policy: Option<&str>, keep: Option<u32>) -> Result<ContextFull> {
  match policy {
    None | Some("stop") => Ok(ContextFull::Stop),
    Some("error") => Ok(ContextFull::Error),
    Some("shift") => Ok(ContextFull::Shift { keep: keep.unwrap_or(0) }),
    Some(other) => Err(EngineError::new(
      ErrorCode::InvalidInput,
      format!("contextFull must be \"stop\", \"error\" or \"shift\", got {other:?}"),
    )),
  }
}

fn speculative(input: Option<Either<String, SpeculativeWindow>>) -> Result<Speculative> {
  match input {
    None => Ok(Speculative::Auto),
    Some(Either::A(word)) if word == "auto" => Ok(Speculative::Auto),
    Some(Either::A(word)) if word == "off" => Ok(Speculative::Off),
    Some(Either::A(word)) => {
      let shown: String = word.chars().take(40).collect();
      let message = format!("speculative must be \"off\", \"auto\" or {{ min, max }}, got {shown:?}");
      Err(EngineError::new(ErrorCode::InvalidInput, message))
    }
    Some(Either::B(window)) => Ok(Speculative::Within(Limits {
      min: whole("speculative.min", Some(window.min))?.unwrap_or(1) as usize,
      max: whole("speculative.max", Some(window.max))?.unwrap_or(1) as usize,
      adaptive: window.adaptive.unwrap_or(true),
    })),
  }
}

fn check_token(token: u32, vocabulary_size: u32) -> Result<Token> {
  if token >= vocabulary_size {
    let message = format!("promptTokens holds {token}, but the vocabulary has {vocabulary_size} tokens");
    return Err(EngineError::new(ErrorCode::InvalidInput, message));
  }
  Ok(token.cast_signed())
}

fn sampling(input: &GenerateInput<'_>) -> Result<SamplingOptions> {
  let defaults = SamplingOptions::default();
  let bias =
    |entry: &LogitBias| Ok((signed("logitBias token", Some(entry.token), 0)?, float(Some(entry.bias), 0.0)));
  Ok(SamplingOptions {
    temperature: float(input.temperature, defaults.temperature),
    top_p: float(input.top_p, defaults.top_p),
    top_k: signed("topK", input.top_k, defaults.top_k)?,
    min_p: float(input.min_p, defaults.min_p),
    typical_p: float(input.typical_p, defaults.typical_p),
    repetition_penalty: float(input.repetition_penalty, defaults.repetition_penalty),
    frequency_penalty: float(input.frequency_penalty, defaults.frequency_penalty),
    presence_penalty: float(input.presence_penalty, defaults.presence_penalty),
    penalty_window: signed("penaltyWindow", input.penalty_window, defaults.penalty_window)?,
    seed: whole("seed", input.seed)?,
    dry: Dry {
      multiplier: float(input.dry_multiplier, defaults.dry.multiplier),
      base: float(input.dry_base, defaults.dry.base),
      allowed_length: signed("dryAllowedLength", input.dry_allowed_length, defaults.dry.allowed_length)?,
      window: signed("dryWindow", input.dry_window, defaults.dry.window)?,
      sequence_breakers: input.dry_sequence_breakers.clone().unwrap_or(defaults.dry.sequence_breakers),
    },
    xtc: Xtc {
      probability: float(input.xtc_probability, defaults.xtc.probability),
      threshold: float(input.xtc_threshold, defaults.xtc.threshold),
    },
    mirostat: Mirostat {
      mode: whole("mirostat", input.mirostat)?
        .map_or(defaults.mirostat.mode, |mode| u8::try_from(mode).unwrap_or(u8::MAX)),
      tau: float(input.mirostat_tau, defaults.mirostat.tau),
      eta: float(input.mirostat_eta, defaults.mirostat.eta),
    },
    logit_bias: input.logit_bias.iter().flatten().map(bias).collect::<Result<_>>()?,
  })
}

/// NaN and infinities survive, so that the engine's check names them.
#[allow(clippy::cast_possible_truncation, reason = "out-of-range values become infinite and are refused")]
fn float(value: Option<f64>, default: f32) -> f32 {
  value.map_or(default, |value| value as f32)
}
