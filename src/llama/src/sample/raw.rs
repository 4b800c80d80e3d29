//! Sampling options in the shim's form.

use local_inference_core::options::SamplingOptions;

use crate::ffi::LiSampling;

/// Asks llama.cpp to draw a seed (`LLAMA_DEFAULT_SEED`).
const RANDOM_SEED: u32 = u32::MAX;

/// The options without what they point to: windows, sequence breakers and biases are the caller's to set.
pub(super) fn to_raw(sampling: &SamplingOptions) -> LiSampling {
  LiSampling {
    seed: sampling.seed.unwrap_or(RANDOM_SEED),
    temperature: sampling.temperature,
    top_p: sampling.top_p,
    min_p: sampling.min_p,
    typical_p: sampling.typical_p,
    top_k: sampling.top_k,
    repetition_penalty: sampling.repetition_penalty,
    frequency_penalty: sampling.frequency_penalty,
    presence_penalty: sampling.presence_penalty,
    penalty_window: sampling.penalty_window,
    dry_multiplier: sampling.dry.multiplier,
    dry_base: sampling.dry.base,
    dry_allowed_length: sampling.dry.allowed_length,
    dry_window: sampling.dry.window,
    dry_breakers: std::ptr::null(),
    dry_breaker_count: 0,
    xtc_probability: sampling.xtc.probability,
    xtc_threshold: sampling.xtc.threshold,
    mirostat: i32::from(sampling.mirostat.mode),
    mirostat_tau: sampling.mirostat.tau,
    mirostat_eta: sampling.mirostat.eta,
    logit_bias: std::ptr::null(),
    logit_bias_count: 0,
  }
}
