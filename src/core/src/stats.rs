//! Honest numbers of one request: token counts and times.

use std::time::{Duration, Instant};

/// What one request used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
  /// Tokens of the prompt, cached ones included.
  pub prompt_tokens: usize,
  /// Tokens of the prompt that were already in the KV cache.
  pub cached_prompt_tokens: usize,
  /// Tokens sampled, the end-of-generation token included.
  pub completion_tokens: usize,
  /// Tokens sampled inside reasoning blocks (part of `completion_tokens`).
  pub reasoning_tokens: usize,
  /// Tokens that a constraint determined, so that they were not sampled (part of `completion_tokens`).
  pub forced_tokens: usize,
  /// Tokens that the model would have chosen and a constraint refused.
  pub refused_tokens: usize,
  /// Tokens proposed by a drafter.
  pub drafted_tokens: usize,
  /// Drafted tokens that the target accepted.
  pub accepted_tokens: usize,
  /// Steps after the first token by the number of tokens that were drafted in them; empty without speculation.
  pub draft_windows: Vec<u32>,
  /// Tokens per second that plain decoding gives in this context at the moment, as far as it was measured; else 0.
  pub plain_rate: f64,
  /// From submission until the first prompt token was evaluated.
  pub queue: Duration,
  /// Evaluation of the prompt, until its last token had logits.
  pub prefill: Duration,
  /// From submission until the first token was sampled.
  pub time_to_first_token: Duration,
  /// From the first sampled token to the last.
  pub decode: Duration,
  /// Seed of the random generator.
  pub seed: u32,
  /// Why the stored state of the request's conversation was not used, if there was one.
  pub state_ignored: Option<String>,
}

/// What a scheduler does now and has done since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metrics {
  /// Requests that own a sequence.
  pub running: usize,
  /// Requests that have not started, by lane: interactive, normal, background.
  pub waiting: [usize; 3],
  /// Requests that gave their sequence to another one and go on later.
  pub paused: usize,
  /// Cells of the KV cache in use, also for later requests.
  pub context_used: usize,
  /// Cells of the KV cache.
  pub context_size: usize,
  /// Snapshots in memory.
  pub cache_entries: usize,
  /// Bytes of snapshots in memory.
  pub cache_bytes: usize,
  /// Requests that started.
  pub started: u64,
  /// Of those that ended, requests that found a part of their prompt in the KV cache or among the snapshots.
  pub hits: u64,
  /// Prompt tokens of the requests that ended.
  pub prompt_tokens: u64,
  /// Of these, tokens that needed no evaluation.
  pub cached_prompt_tokens: u64,
  /// Tokens sampled.
  pub completion_tokens: u64,
  /// Tokens proposed by a drafter.
  pub drafted_tokens: u64,
  /// Drafted tokens that were kept.
  pub accepted_tokens: u64,
  /// Times that a running request gave its sequence away.
  pub pauses: u64,
  /// Requests refused because too many waited.
  pub refused: u64,
  /// Requests that waited too long.
  pub timed_out: u64,
}

impl Usage {
  /// Evaluated (not cached) prompt tokens per second; 0 when none were evaluated.
  pub fn prefill_rate(&self) -> f64 {
    rate(self.prompt_tokens.saturating_sub(self.cached_prompt_tokens), self.prefill)
  }

  /// How much faster than plain decoding the tokens after the first one came; 0 when that is not known.
  pub fn speed_up(&self) -> f64 {
    if self.drafted_tokens == 0 || self.plain_rate <= 0.0 {
      0.0
    } else {
      self.decode_rate() / self.plain_rate
    }
  }

  /// Tokens per second after the first one; 0 with fewer than two tokens.
  pub fn decode_rate(&self) -> f64 {
    rate(self.completion_tokens.saturating_sub(1), self.decode)
  }
}

#[allow(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn rate(tokens: usize, time: Duration) -> f64 {
  if tokens == 0 || time.is_zero() { 0.0 } else { tokens as f64 / time.as_secs_f64() }
}

/// Clock of one request.
#[derive(Debug, Clone)]
pub(crate) struct Stopwatch {
  submitted: Instant,
  started: Option<Instant>,
  first_token: Option<Instant>,
  last_token: Option<Instant>,
}

impl Stopwatch {
  pub(crate) fn new() -> Self {
    Self { submitted: Instant::now(), started: None, first_token: None, last_token: None }
  }

  pub(crate) fn start(&mut self) {
    self.started.get_or_insert_with(Instant::now);
  }

  pub(crate) fn token(&mut self) {
    let now = Instant::now();
    self.first_token.get_or_insert(now);
    self.last_token = Some(now);
  }

  pub(crate) fn write(&self, usage: &mut Usage) {
    let started = self.started.unwrap_or_else(Instant::now);
    usage.queue = started.duration_since(self.submitted);
    if let (Some(first), Some(last)) = (self.first_token, self.last_token) {
      usage.prefill = first.duration_since(started);
      usage.time_to_first_token = first.duration_since(self.submitted);
      usage.decode = last.duration_since(first);
    }
  }
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn rates_of_nothing_are_zero() {
    assert!(Usage::default().prefill_rate().abs() < f64::EPSILON);
    assert!(Usage { completion_tokens: 1, ..Usage::default() }.decode_rate().abs() < f64::EPSILON);
  }

  #[test]
  fn cached_tokens_do_not_count_as_prefill_work() {
    let usage = Usage {
      prompt_tokens: 110,
      cached_prompt_tokens: 100,
      prefill: Duration::from_secs(2),
      ..Usage::default()
    };
    assert!((usage.prefill_rate() - 5.0).abs() < 1e-9);
  }
}
