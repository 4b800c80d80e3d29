//! The numbers of a context.

use local_inference_core::stats::Metrics;
use napi_derive::napi;

use crate::numbers::{count, number};

#[napi(object, object_from_js = false)]
pub struct ContextMetrics {
  pub running: f64,
  pub waiting_interactive: f64,
  pub waiting_normal: f64,
  pub waiting_background: f64,
  pub paused: f64,
  pub context_used: f64,
  pub context_size: f64,
  pub cache_entries: f64,
  pub cache_bytes: f64,
  pub started: f64,
  pub hits: f64,
  pub prompt_tokens: f64,
  pub cached_prompt_tokens: f64,
  pub completion_tokens: f64,
  pub pauses: f64,
  pub refused: f64,
  pub timed_out: f64,
}

impl From<Metrics> for ContextMetrics {
  fn from(metrics: Metrics) -> Self {
    let [interactive, normal, background] = metrics.waiting;
    Self {
      running: count(metrics.running),
      waiting_interactive: count(interactive),
      waiting_normal: count(normal),
      waiting_background: count(background),
      paused: count(metrics.paused),
      context_used: count(metrics.context_used),
      context_size: count(metrics.context_size),
      cache_entries: count(metrics.cache_entries),
      cache_bytes: count(metrics.cache_bytes),
      started: number(metrics.started),
      hits: number(metrics.hits),
      prompt_tokens: number(metrics.prompt_tokens),
      cached_prompt_tokens: number(metrics.cached_prompt_tokens),
      completion_tokens: number(metrics.completion_tokens),
      pauses: number(metrics.pauses),
      refused: number(metrics.refused),
      timed_out: number(metrics.timed_out),
    }
  }
}
