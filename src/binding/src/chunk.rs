//! The pieces of a generation and its end, as JavaScript objects.

use local_inference_core::generate::{FinishReason, Finished};
use local_inference_core::stats;
use napi_derive::napi;

use crate::numbers::{count, milliseconds};

#[napi(object, object_from_js = false)]
pub struct TokenAlternative {
  pub token: u32,
  pub text: String,
  pub logprob: f64,
}

#[napi(object, object_from_js = false)]
pub struct TokenLogprob {
  pub token: u32,
  pub text: String,
  pub logprob: f64,
  pub top: Vec<TokenAlternative>,
}

#[napi(object, object_from_js = false)]
pub struct Usage {
  pub prompt_tokens: f64,
  pub cached_prompt_tokens: f64,
  pub completion_tokens: f64,
  pub reasoning_tokens: f64,
  pub forced_tokens: f64,
  pub refused_tokens: f64,
  pub drafted_tokens: f64,
  pub accepted_tokens: f64,
  pub draft_windows: Vec<u32>,
  pub plain_tokens_per_second: f64,
  pub speculative_speed_up: f64,
  pub queue_ms: f64,
  pub prefill_ms: f64,
  pub time_to_first_token_ms: f64,
  pub decode_ms: f64,
  pub prefill_tokens_per_second: f64,
  pub decode_tokens_per_second: f64,
  pub seed: u32,
  pub state_ignored: Option<String>,
}

#[allow(clippy::struct_field_names, reason = "the names JavaScript sees")]
#[napi(object, object_from_js = false)]
pub struct Finish {
  #[napi(ts_type = "\"stop\" | \"length\" | \"cancelled\" | \"context\"")]
  pub finish_reason: &'static str,
  pub stop_string: Option<String>,
  pub usage: Usage,
}

#[napi(object, object_from_js = false)]
pub struct Chunk {
  pub text: String,
  pub reasoning: String,
  pub tokens: u32,
  pub logprobs: Option<Vec<TokenLogprob>>,
  pub done: Option<Finish>,
}

impl From<Finished> for Finish {
  fn from(finished: Finished) -> Self {
    Self {
      finish_reason: match finished.reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::Cancelled => "cancelled",
        FinishReason::Context => "context",
      },
      stop_string: finished.stop,
      usage: Usage::from(finished.usage),
    }
  }
}

impl From<stats::Usage> for Usage {
  fn from(usage: stats::Usage) -> Self {
    let speed_up = usage.speed_up();
    Self {
      prompt_tokens: count(usage.prompt_tokens),
      cached_prompt_tokens: count(usage.cached_prompt_tokens),
      completion_tokens: count(usage.completion_tokens),
      reasoning_tokens: count(usage.reasoning_tokens),
      forced_tokens: count(usage.forced_tokens),
      refused_tokens: count(usage.refused_tokens),
      drafted_tokens: count(usage.drafted_tokens),
      accepted_tokens: count(usage.accepted_tokens),
      plain_tokens_per_second: usage.plain_rate,
      speculative_speed_up: speed_up,
      queue_ms: milliseconds(usage.queue),
      prefill_ms: milliseconds(usage.prefill),
      time_to_first_token_ms: milliseconds(usage.time_to_first_token),
      decode_ms: milliseconds(usage.decode),
      prefill_tokens_per_second: usage.prefill_rate(),
      decode_tokens_per_second: usage.decode_rate(),
      seed: usage.seed,
      draft_windows: usage.draft_windows,
      state_ignored: usage.state_ignored,
    }
  }
}
