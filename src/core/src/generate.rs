//! One request's life: prompt tokens in, text pieces out, and the rules that end it.

use crate::cancel::CancelToken;
use crate::decoder::{Decoder, Token, TokenLogprobs};
use crate::error::{EngineError, ErrorCode, Result};
use crate::options::GenerateOptions;
use crate::stats::{Stopwatch, Usage};
use crate::text::{TextDelta, TextPipeline};

/// What to generate.
#[derive(Debug)]
pub struct Request {
  /// The prompt: at least one token, and fewer than the context holds.
  pub prompt: Vec<Token>,
  /// Limits, sampling and text rules; validated by the caller.
  pub options: GenerateOptions,
  /// Stops the request at any time.
  pub cancel: CancelToken,
}

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
  /// The model ended its turn, or a stop string appeared.
  Stop,
  /// `max_tokens` were generated.
  Length,
  /// The caller stopped it.
  Cancelled,
  /// The sequence fills the whole context.
  Context,
}

/// Text that became final since the last piece.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Piece {
  /// Answer text.
  pub text: String,
  /// Text of a reasoning block.
  pub reasoning: String,
  /// Tokens sampled for it; a token whose text is held back counts here already.
  pub tokens: u32,
  /// One entry a token when asked for.
  pub logprobs: Vec<TokenLogprobs>,
}

/// The last word of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
  /// Why it ended.
  pub reason: FinishReason,
  /// The stop string that ended it.
  pub stop: Option<String>,
  /// What it used.
  pub usage: Usage,
}

/// What a request reports. Exactly one `Done` or `Failed` comes last.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
  /// More text.
  Piece(Piece),
  /// The end.
  Done(Finished),
  /// The end, by an error.
  Failed(EngineError),
}

/// Where a request's events go.
pub trait Sink {
  /// Whether another piece is welcome. The scheduler decodes nothing for a request whose sink is full, but what a step
  /// has begun is sent: up to two pieces (of the last token, of held text) and the final event come after a `true`.
  fn ready(&self) -> bool;

  /// Takes an event; a final one is always taken.
  fn send(&mut self, event: Event);
}

/// A request that owns a sequence.
pub(crate) struct Generation<S> {
  /// Limits and text rules.
  pub(crate) options: GenerateOptions,
  /// The caller's stop flag.
  pub(crate) cancel: CancelToken,
  /// The prompt and every sampled token. What of it is in the KV cache is known to the slot; the rest is still to be
  /// evaluated, whether it is prompt, the newest token, or tokens that the cache has lost.
  pub(crate) history: Vec<Token>,
  sampler: S,
  text: TextPipeline,
  stop: Option<String>,
  usage: Usage,
  clock: Stopwatch,
  bytes: Vec<u8>,
}

/// What one sampled token led to.
pub(crate) struct Step {
  /// Its text and what it released.
  pub(crate) piece: Piece,
  /// Set when the generation ends with it.
  pub(crate) finish: Option<FinishReason>,
}

impl<S> Generation<S> {
  /// A generation whose first `cached` prompt tokens need no evaluation.
  pub(crate) fn new(request: Request, sampler: S, cached: usize, seed: u32, mut clock: Stopwatch) -> Self {
    clock.start();
    let Request { prompt, options, cancel } = request;
    Self {
      text: TextPipeline::new(options.text.clone()),
      usage: Usage { prompt_tokens: prompt.len(), cached_prompt_tokens: cached, seed, ..Usage::default() },
      options,
      cancel,
      history: prompt,
      sampler,
      stop: None,
      clock,
      bytes: Vec::new(),
    }
  }

  /// The KV cache holds only `kept` tokens of the history: prompt tokens that are evaluated again were not cached.
  pub(crate) fn lose_cache(&mut self, kept: usize) {
    if self.usage.completion_tokens == 0 {
      self.usage.cached_prompt_tokens = self.usage.cached_prompt_tokens.min(kept);
    }
  }

  /// Samples after row `row` of the last batch, which held the end of the history, and applies every rule that can end
  /// the generation.
  pub(crate) fn step<D: Decoder<Sampler = S>>(&mut self, decoder: &mut D, row: usize) -> Result<Step> {
    let evaluated = self.history.len();
    let min_tokens = self.options.min_tokens as usize;
    let ban_end = self.options.ignore_eos || self.usage.completion_tokens < min_tokens;
    let sampled = decoder.sample(&mut self.sampler, row, ban_end)?;
    self.clock.token();
    self.usage.completion_tokens += 1;
    self.history.push(sampled.token);

    self.text.set_stops_enabled(self.usage.completion_tokens > min_tokens);
    let ended = decoder.is_end(sampled.token);
    let delta = self.read(decoder, sampled.token, ended);
    let finish = if delta.stop.is_some() || ended {
      Some(FinishReason::Stop)
    } else if self.options.max_tokens.is_some_and(|limit| self.usage.completion_tokens >= limit as usize) {
      Some(FinishReason::Length)
    } else if evaluated >= decoder.context_size() {
      Some(FinishReason::Context)
    } else {
      None
    };
    let piece = Piece { tokens: 1, logprobs: sampled.logprobs.into_iter().collect(), ..self.piece(delta) };
    Ok(Step { piece, finish })
  }

  /// Takes the text of `token` through the text stages and counts it when it belongs to a reasoning block.
  fn read<D: Decoder<Sampler = S>>(&mut self, decoder: &D, token: Token, ended: bool) -> TextDelta {
    let was_inside = self.text.in_reasoning();
    self.bytes.clear();
    if !ended {
      decoder.piece(&self.sampler, token, &mut self.bytes);
    }
    let delta = self.text.push(&self.bytes);
    // A token that only completes the closing tag is none of the reasoning.
    if was_inside && (self.text.in_reasoning() || !delta.reasoning.is_empty()) {
      self.usage.reasoning_tokens += 1;
    }
    delta
  }

  fn piece(&mut self, delta: TextDelta) -> Piece {
    if delta.stop.is_some() {
      self.stop = delta.stop;
    }
    Piece { text: delta.text, reasoning: delta.reasoning, ..Piece::default() }
  }

  /// Text held back for a stop string or a character that never came, and the last word.
  pub(crate) fn finish(mut self, reason: FinishReason) -> (Piece, Finished) {
    let delta = self.text.finish();
    let piece = self.piece(delta);
    // Of a stop and a longer one that begins with it, the end decides. It outranks a limit, but not the caller.
    let stop = self.stop.take().filter(|_| reason != FinishReason::Cancelled);
    let reason = if stop.is_some() { FinishReason::Stop } else { reason };
    self.clock.write(&mut self.usage);
    (piece, Finished { reason, stop, usage: self.usage })
  }
}

/// Rejects a prompt that cannot be decoded in a context of `context_size` tokens.
pub(crate) fn check_prompt(prompt: &[Token], context_size: usize) -> Result<()> {
  if prompt.is_empty() {
    return Err(EngineError::new(ErrorCode::InvalidInput, "the prompt is empty: give at least one token"));
  }
  if prompt.len() >= context_size {
    return Err(EngineError::new(
      ErrorCode::ContextOverflow,
      format!(
        "the prompt has {} tokens, but the context holds {context_size} and needs room for at least one more: \
         shorten the prompt or open a larger context",
        prompt.len()
      ),
    ));
  }
  Ok(())
}
