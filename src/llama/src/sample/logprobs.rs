//! Log probabilities from raw logits.

use local_inference_core::decoder::{Logprob, Token, TokenLogprobs};

/// Natural log-softmax of `logits` for the chosen token and the `count` most likely ones.
#[allow(
  clippy::cast_possible_truncation,
  clippy::cast_possible_wrap,
  reason = "log probabilities fit f32; token ids fit i32"
)]
pub(super) fn log_probabilities(logits: &[f32], chosen: Token, count: u32) -> TokenLogprobs {
  let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
  let sum: f64 = logits.iter().map(|logit| f64::from(logit - max).exp()).sum();
  let normaliser = f64::from(max) + sum.ln();
  let logprob = |token: usize| (f64::from(logits[token]) - normaliser) as f32;
  let mut order: Vec<usize> = (0..logits.len()).collect();
  let count = (count as usize).min(order.len());
  if count > 0 && count < order.len() {
    order.select_nth_unstable_by(count, |a, b| logits[*b].total_cmp(&logits[*a]));
  }
  order.truncate(count);
  order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
  let chosen_index = usize::try_from(chosen).unwrap_or(0);
  TokenLogprobs {
    chosen: Logprob { token: chosen, logprob: logprob(chosen_index) },
    top: order.into_iter().map(|token| Logprob { token: token as Token, logprob: logprob(token) }).collect(),
  }
}
