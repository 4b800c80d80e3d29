//! A request that runs: prompt tokens in, text pieces out, and the rules that end it.

use super::event::{FinishReason, Finished, Piece};
use super::request::Request;
use crate::cancel::CancelToken;
use crate::decoder::{Decode, Draft, Drafted, Draw, Sample};
use crate::error::Result;
use crate::grammar::Guard;
use crate::history::History;
use crate::options::{ContextFull, GenerateOptions};
use crate::stats::{Stopwatch, Usage};
use crate::text::{TextDelta, TextPipeline};
use crate::token::Token;

/// A request that owns a sequence.
pub(crate) struct Generation<S> {
  /// Limits and text rules.
  pub(crate) options: GenerateOptions,
  /// The caller's stop flag.
  pub(crate) cancel: CancelToken,
  /// The prompt and every sampled token. What of it is in the KV cache is known to the slot; the rest is still to be
  /// evaluated, whether it is prompt, the newest token, or tokens that the cache has lost.
  pub(crate) history: History,
  pub(super) sampler: S,
  pub(super) text: TextPipeline,
  pub(super) stop: Option<String>,
  pub(super) usage: Usage,
  pub(super) clock: Stopwatch,
  pub(super) bytes: Vec<u8>,
  pub(super) guard: Option<Guard>,
  /// What was taken before the first token was sampled.
  pub(super) lead: Piece,
  /// The rest of what ends the part that the model wanted to end.
  pub(super) ending: Vec<Token>,
  /// Remaining tokens at which to check again whether open brackets and strings can still be closed.
  pub(super) close_check: usize,
}

/// What one sampled token led to.
pub(crate) struct Progress {
  /// Its text and what it released.
  pub(crate) piece: Piece,
  /// Set when the generation ends with it.
  pub(crate) finish: Option<FinishReason>,
  /// Nothing ends it, but the context has no room for the token.
  pub(crate) full: bool,
}

/// What is known of a request when it starts.
pub(crate) struct Start {
  /// Prompt tokens that need no evaluation.
  pub(crate) cached: usize,
  /// Seed in use.
  pub(crate) seed: u32,
  /// Running since the submission.
  pub(crate) clock: Stopwatch,
  /// Why the stored state of its conversation was not used.
  pub(crate) state_ignored: Option<String>,
}

impl<S> Generation<S> {
  /// A generation whose first `cached` prompt tokens need no evaluation.
  pub(crate) fn new(request: Request, sampler: S, start: Start) -> Self {
    let Start { cached, seed, mut clock, state_ignored } = start;
    clock.start();
    let Request { prompt, options, cancel } = request;
    let prompt_tokens = prompt.len_cells();
    Self {
      text: TextPipeline::new(options.text.clone()),
      usage: Usage { prompt_tokens, cached_prompt_tokens: cached, seed, state_ignored, ..Usage::default() },
      options,
      cancel,
      history: prompt,
      sampler,
      stop: None,
      clock,
      bytes: Vec::new(),
      guard: None,
      lead: Piece::default(),
      ending: Vec::new(),
      close_check: usize::MAX,
    }
  }

  /// The KV cache holds only `kept` tokens of the history: prompt tokens that are evaluated again were not cached.
  pub(crate) fn cached_at_most(&mut self, kept: usize) {
    if !self.answers() {
      self.usage.cached_prompt_tokens = self.usage.cached_prompt_tokens.min(kept);
    }
  }

  /// The KV cache gave `found` tokens of a prompt of which nothing was evaluated yet.
  pub(crate) fn found_cached(&mut self, found: usize) {
    self.usage.cached_prompt_tokens = found.min(self.usage.prompt_tokens);
  }

  /// Whether a token was sampled: the request is a stream, no longer a prefill.
  pub(crate) fn answers(&self) -> bool {
    self.usage.completion_tokens > self.usage.forced_tokens
  }

  /// How tokens are drafted for it; `None`: the most likely ones, which are then compared with what is sampled. So it is
  /// with a seed of the caller's, which then gives the text that it gives without a drafter, with a constraint, and with
  /// mirostat, which learns from its own choice.
  pub(crate) fn draw(&self) -> Option<Draw> {
    let sampling = &self.options.sampling;
    let draws = sampling.temperature > 0.0
      && sampling.seed.is_none()
      && sampling.mirostat.mode == 0
      && self.guard.is_none();
    draws.then_some(Draw { temperature: sampling.temperature, seed: self.usage.seed })
  }

  /// Samples after row `row` of the last batch, which held the end of the history, and applies every rule that can end
  /// the generation. `drafted` is what was drawn to follow.
  pub(crate) fn advance<D: Decode + Draft<Sampler = S>>(
    &mut self,
    decoder: &mut D,
    row: usize,
    drafted: Option<Drafted>,
  ) -> Result<Progress> {
    let evaluated = self.history.len_cells();
    let min_tokens = self.options.min_tokens as usize;
    let ban_end = self.options.ignore_eos || self.usage.completion_tokens < min_tokens;
    let sampled = match (&self.guard, drafted) {
      (None, None) => decoder.sample(&mut self.sampler, row, ban_end)?,
      (None, Some(drafted)) => decoder.verify(&mut self.sampler, row, ban_end, drafted)?,
      (Some(_), _) => self.choose(decoder, row, ban_end)?,
    };
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
    } else if evaluated >= decoder.context_size() && self.options.queue.context_full == ContextFull::Stop {
      Some(FinishReason::Context)
    } else {
      None
    };
    let piece = Piece { tokens: 1, logprobs: sampled.logprobs.into_iter().collect(), ..self.piece(delta) };
    let mut progress = self.follow(decoder, Progress { piece, finish, full: false })?;
    progress.full = progress.finish.is_none() && self.history.len_cells() > decoder.context_size();
    Ok(progress)
  }

  /// A step drafted `drafted` tokens of which `accepted` were kept; a plain step takes `plain` seconds.
  pub(crate) fn speculated(&mut self, drafted: usize, accepted: usize, plain: Option<f64>) {
    self.usage.plain_rate = plain.map_or(0.0, |seconds| 1.0 / seconds);
    // The first token comes with the prompt.
    if self.usage.completion_tokens == 1 {
      return;
    }
    self.usage.drafted_tokens += drafted;
    self.usage.accepted_tokens += accepted;
    if self.usage.draft_windows.len() <= drafted {
      self.usage.draft_windows.resize(drafted + 1, 0);
    }
    self.usage.draft_windows[drafted] += 1;
    self.usage.plain_rate = plain.map_or(0.0, |seconds| 1.0 / seconds);
  }

  /// Takes the text of `token` through the text stages and counts it when it belongs to a reasoning block.
  pub(super) fn read<D: Sample<Sampler = S>>(&mut self, decoder: &D, token: Token, ended: bool) -> TextDelta {
    let was_inside = self.text.in_reasoning();
    self.bytes.clear();
    if !ended {
      decoder.piece(&self.sampler, token, &mut self.bytes);
    }
    let guard = &mut self.guard;
    // A stop never leaves an answer that does not match.
    let delta = self.text.push_where(&self.bytes, &mut |tail| may_stop(guard, tail));
    // A token that only completes the closing tag is none of the reasoning.
    if was_inside && (self.text.in_reasoning() || !delta.reasoning.is_empty()) {
      self.usage.reasoning_tokens += 1;
    }
    delta
  }

  pub(super) fn piece(&mut self, delta: TextDelta) -> Piece {
    if delta.stop.is_some() {
      self.stop = delta.stop;
    }
    Piece { text: delta.text, reasoning: delta.reasoning, ..Piece::default() }
  }

  /// Text held back for a stop string or a character that never came, and the last word.
  pub(crate) fn finish(mut self, reason: FinishReason) -> (Piece, Finished) {
    let guard = &mut self.guard;
    let delta = self.text.finish_where(&mut |tail| may_stop(guard, tail));
    let piece = self.piece(delta);
    // Of a stop and a longer one that begins with it, the end decides. It outranks a limit, but not the caller.
    let stop = self.stop.take().filter(|_| reason != FinishReason::Cancelled);
    let reason = if stop.is_some() { FinishReason::Stop } else { reason };
    self.clock.write(&mut self.usage);
    (piece, Finished { reason, stop, usage: self.usage })
  }
}

fn may_stop(guard: &mut Option<Guard>, tail: usize) -> bool {
  guard.as_mut().is_none_or(|guard| guard.can_end_before(tail))
}
