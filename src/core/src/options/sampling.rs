//! How the next token is chosen. Defaults are those of llama.cpp's `common` sampler.

use super::check;
use crate::error::Result;

/// Most tokens that a penalty looks back on; llama.cpp allocates a buffer of this many.
pub const MAX_WINDOW: i32 = 1 << 20;
/// Most strings in `sequence_breakers`.
pub const MAX_BREAKERS: usize = 64;
/// Longest sequence breaker in bytes; llama.cpp cuts longer ones.
pub const MAX_BREAKER_BYTES: usize = 40;
/// Largest bias of a token: far above any logit, far below what overflows when biases add up.
pub const MAX_BIAS: f32 = 1_000_000.0;

/// Temperature, filters, penalties and constraints.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplingOptions {
  /// Divides the logits, 0 to 10; 0 always takes the most likely token. Default 0.8.
  pub temperature: f32,
  /// Keeps the most likely tokens that together reach this probability, 0 to 1; 1 is off. Default 0.95.
  pub top_p: f32,
  /// Keeps this many of the most likely tokens, at least 0; 0 is off. Default 40.
  pub top_k: i32,
  /// Keeps tokens at least this likely relative to the most likely one, 0 to 1; 0 is off. Default 0.05.
  pub min_p: f32,
  /// Keeps tokens whose surprise is near the entropy, up to this probability, 0 to 1; 1 is off. Default 1.
  pub typical_p: f32,
  /// Divides positive logits of tokens seen in the window and multiplies negative ones, 0.1 to 10; 1 is off. Default 1.
  pub repetition_penalty: f32,
  /// Subtracted from the logit of a token for each occurrence in the window, -2 to 2; 0 is off. Default 0.
  pub frequency_penalty: f32,
  /// Subtracted from the logit of a token that occurs in the window, -2 to 2; 0 is off. Default 0.
  pub presence_penalty: f32,
  /// Tokens that the three penalties look back on, -1 to 1,048,576; 0 turns them off, -1 is the whole context.
  /// Default 64.
  pub penalty_window: i32,
  /// Seed of the random choice. Default `None`: a new one each time.
  pub seed: Option<u32>,
  /// Penalty on repeated sequences. Default off.
  pub dry: Dry,
  /// Exclusion of the most likely tokens. Default off.
  pub xtc: Xtc,
  /// Control of the surprise. Default off.
  pub mirostat: Mirostat,
  /// Added to the logits of single tokens: a token of the vocabulary, and a number up to 1,000,000, where negative
  /// infinity bans the token. Default none.
  pub logit_bias: Vec<(i32, f32)>,
}

/// Penalises tokens that continue a sequence seen before: multiplier * base ^ (length - allowed length).
#[derive(Debug, Clone, PartialEq)]
pub struct Dry {
  /// Strength, 0 to 100; 0 is off. Default 0.
  pub multiplier: f32,
  /// Growth with each repeated token, 1 to 10. Default 1.75.
  pub base: f32,
  /// Repeated tokens that go unpunished, 0 to 1,048,576. Default 2.
  pub allowed_length: i32,
  /// Tokens to look back on, -1 to 1,048,576; 0 turns it off, -1 is the whole context. Default 64.
  pub window: i32,
  /// Strings that no repeated sequence reaches across. At most 64 of 1 to 40 bytes. Default newline, colon, quote, star.
  pub sequence_breakers: Vec<String>,
}

/// Removes all but the least likely of the tokens above a threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct Xtc {
  /// How often it is applied, 0 to 1; 0 is off. Default 0.
  pub probability: f32,
  /// Probability from which a token counts as likely, 0 to 1; above 0.5 it never applies. Default 0.1.
  pub threshold: f32,
}

/// Keeps the surprise of the output near a target; replaces the filters.
#[derive(Debug, Clone, PartialEq)]
pub struct Mirostat {
  /// 0 is off, 1 and 2 are the versions of the algorithm. Default 0.
  pub mode: u8,
  /// Target surprise in bits, 0 to 100. Default 5.
  pub tau: f32,
  /// Rate at which it adapts, 0 to 1. Default 0.1.
  pub eta: f32,
}

impl Default for SamplingOptions {
  fn default() -> Self {
    Self {
      temperature: 0.8,
      top_p: 0.95,
      top_k: 40,
      min_p: 0.05,
      typical_p: 1.0,
      repetition_penalty: 1.0,
      frequency_penalty: 0.0,
      presence_penalty: 0.0,
      penalty_window: 64,
      seed: None,
      dry: Dry::default(),
      xtc: Xtc::default(),
      mirostat: Mirostat::default(),
      logit_bias: Vec::new(),
    }
  }
}

impl Default for Dry {
  fn default() -> Self {
    Self {
      multiplier: 0.0,
      base: 1.75,
      allowed_length: 2,
      window: 64,
      sequence_breakers: ["\n", ":", "\"", "*"].map(str::to_owned).to_vec(),
    }
  }
}

impl Default for Xtc {
  fn default() -> Self {
    Self { probability: 0.0, threshold: 0.1 }
  }
}

impl Default for Mirostat {
  fn default() -> Self {
    Self { mode: 0, tau: 5.0, eta: 0.1 }
  }
}

impl SamplingOptions {
  /// Checks every field against its range; `vocabulary_size` is the number of tokens of the model.
  ///
  /// # Errors
  /// `INVALID_INPUT` that names the field, its value and what is allowed.
  pub fn validate(&self, vocabulary_size: u32) -> Result<()> {
    check::in_range("temperature", self.temperature, 0.0..=10.0)?;
    check::in_range("topP", self.top_p, 0.0..=1.0)?;
    check::in_range("topK", self.top_k, 0..=i32::MAX)?;
    check::in_range("minP", self.min_p, 0.0..=1.0)?;
    check::in_range("typicalP", self.typical_p, 0.0..=1.0)?;
    check::in_range("repetitionPenalty", self.repetition_penalty, 0.1..=10.0)?;
    check::in_range("frequencyPenalty", self.frequency_penalty, -2.0..=2.0)?;
    check::in_range("presencePenalty", self.presence_penalty, -2.0..=2.0)?;
    check::in_range("penaltyWindow", self.penalty_window, -1..=MAX_WINDOW)?;
    self.dry.validate()?;
    check::in_range("xtcProbability", self.xtc.probability, 0.0..=1.0)?;
    check::in_range("xtcThreshold", self.xtc.threshold, 0.0..=1.0)?;
    check::in_range("mirostat", self.mirostat.mode, 0..=2)?;
    check::in_range("mirostatTau", self.mirostat.tau, 0.0..=100.0)?;
    check::in_range("mirostatEta", self.mirostat.eta, 0.0..=1.0)?;
    self.validate_logit_bias(vocabulary_size)
  }

  fn validate_logit_bias(&self, vocabulary_size: u32) -> Result<()> {
    let count = self.logit_bias.len();
    if u32::try_from(count).is_ok_and(|count| count <= vocabulary_size) {
      self.logit_bias.iter().try_for_each(|&(token, bias)| validate_bias(token, bias, vocabulary_size))
    } else {
      let message = format!("logitBias must have at most {vocabulary_size} entries, got {count}");
      Err(check::invalid(message))
    }
  }
}

fn validate_bias(token: i32, bias: f32, vocabulary_size: u32) -> Result<()> {
  if u32::try_from(token).map_or(true, |token| token >= vocabulary_size) {
    return Err(check::invalid(format!(
      "logitBias token must be at least 0 and below the vocabulary size {vocabulary_size}, got {token}"
    )));
  }
  if bias.is_nan() || bias > MAX_BIAS {
    return Err(check::invalid(format!(
      "logitBias of token {token} must be at most {MAX_BIAS} (-Infinity bans the token), got {bias}"
    )));
  }
  Ok(())
}

impl Dry {
  fn validate(&self) -> Result<()> {
    check::in_range("dryMultiplier", self.multiplier, 0.0..=100.0)?;
    check::in_range("dryBase", self.base, 1.0..=10.0)?;
    check::in_range("dryAllowedLength", self.allowed_length, 0..=MAX_WINDOW)?;
    check::in_range("dryWindow", self.window, -1..=MAX_WINDOW)?;
    check::strings("drySequenceBreakers", &self.sequence_breakers, MAX_BREAKERS, 1..=MAX_BREAKER_BYTES)?;
    check::without_nul("drySequenceBreakers", &self.sequence_breakers)
  }
}
