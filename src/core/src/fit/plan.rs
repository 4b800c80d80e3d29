//! Chooses the context size and the type of the KV cache.

use super::geometry::{CacheKind, Windows};
use super::input::FitInput;
use super::kv_type::KvType;
use super::shortage::{check_weights, too_large};
use super::units::readable;
use crate::error::{EngineError, ErrorCode, Result};

/// A choice and what it costs. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitPlan {
  /// Tokens of context.
  pub context: u32,
  /// Type of the keys.
  pub kv_k: KvType,
  /// Type of the values.
  pub kv_v: KvType,
  /// What layers with a sliding window keep.
  pub windows: Windows,
  /// Size of the KV cache and of recurrent state.
  pub kv_bytes: u64,
  /// Size of the weights, loaded or not.
  pub weight_bytes: u64,
  /// Estimated size of the tokenizer's tables, loaded or not.
  pub tokenizer_bytes: u64,
  /// Estimated size of the compute buffers.
  pub compute_bytes: u64,
  /// Estimated size of the drafter's KV cache and compute buffers.
  pub drafter_bytes: u64,
  /// Why this size, in one line.
  pub reason: String,
}

const fn same(kind: KvType, windows: Windows) -> CacheKind {
  CacheKind { k: kind, v: kind, windows }
}

impl std::fmt::Display for CacheKind {
  fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    if self.k == self.v { write!(f, "{}", self.k) } else { write!(f, "{}/{}", self.k, self.v) }
  }
}

/// Chooses a context.
///
/// Without a wish for a type the cache is `f16` when the whole training context (or the requested one) fits with it,
/// otherwise `q8_0`, which nearly doubles the context, when the model's heads and flash attention allow. A type given
/// for keys or values only leaves the other at `f16`. Sliding windows are stored in full while that fits, and trimmed
/// otherwise.
///
/// `UNSUPPORTED`: a bare vocabulary. `INVALID_INPUT`: a context above the training context, or types that the model cannot have. `OUT_OF_MEMORY`: what
/// is missing, and the largest context that would fit.
pub fn plan(input: &FitInput) -> Result<FitPlan> {
  if input.training_context == 0 {
    return Err(EngineError::new(
      ErrorCode::Unsupported,
      "the file is a vocabulary without a model: it has no context",
    ));
  }
  let wanted = input.requested_context.filter(|context| *context > 0);
  if let Some(context) = wanted.filter(|context| *context > input.training_context) {
    return Err(EngineError::new(
      ErrorCode::InvalidInput,
      format!("a context of {context} tokens was requested, but the model allows {}", input.training_context),
    ));
  }
  let choices = choices(input)?;
  check_weights(input)?;
  let whole = wanted.unwrap_or(input.training_context);
  if let Some(cache) = choices.iter().copied().find(|cache| input.fits(whole, *cache)) {
    // Without a wish a coarser type is taken for a longer context even if the whole one does not fit.
    let context = if wanted.is_some() { whole } else { input.largest(cache).unwrap_or(whole) };
    let why = if wanted.is_some() { "as requested" } else { "the whole training context" };
    return Ok(describe(input, context, cache, why));
  }
  let largest = largest(input, &choices);
  match (wanted, largest) {
    (None, Some((context, cache))) => {
      let why = format!("of {}, the largest that fits {}", input.training_context, readable(input.budget()));
      Ok(describe(input, context, cache, &why))
    }
    (_, largest) => Err(too_large(input, whole, cheapest(&choices), largest.map(|choice| choice.0))),
  }
}

/// The longest context that fits, and how it is stored.
pub(super) fn largest(input: &FitInput, choices: &[CacheKind]) -> Option<(u32, CacheKind)> {
  let fitting = choices.iter().filter_map(|cache| Some((input.largest(*cache)?, *cache)));
  // Of equally long contexts the last is taken: the preferred kind.
  fitting.rev().max_by_key(|choice| choice.0)
}

/// The kind that takes the least memory: the last one tried.
pub(super) fn cheapest(choices: &[CacheKind]) -> CacheKind {
  choices.last().copied().unwrap_or(same(KvType::F16, Windows::Full))
}

/// The kinds of cache to try, in order of preference.
pub(super) fn choices(input: &FitInput) -> Result<Vec<CacheKind>> {
  let types = type_choices(input)?;
  let windows: &[Windows] =
    if input.geometry.slides() { &[Windows::Full, Windows::Trimmed] } else { &[Windows::Full] };
  Ok(
    windows
      .iter()
      .flat_map(|windows| types.iter().map(|cache| CacheKind { windows: *windows, ..*cache }))
      .collect(),
  )
}

fn type_choices(input: &FitInput) -> Result<Vec<CacheKind>> {
  let (f16, q8) = (same(KvType::F16, Windows::Full), same(KvType::Q8_0, Windows::Full));
  if input.kv_k.is_none() && input.kv_v.is_none() {
    let coarse = input.flash_attention && input.geometry.supports(q8.k, q8.v);
    return Ok(if coarse { vec![f16, q8] } else { vec![f16] });
  }
  let wanted = CacheKind { k: input.kv_k.unwrap_or(f16.k), v: input.kv_v.unwrap_or(f16.v), ..f16 };
  let refuse =
    |why: &str| Err(EngineError::new(ErrorCode::InvalidInput, format!("KV cache type {wanted}: {why}")));
  if !input.geometry.supports(wanted.k, wanted.v) {
    return refuse("the attention heads of this model are not a multiple of the block of 32; use f16");
  }
  if wanted.v.quantized() && !input.flash_attention {
    return refuse("quantised values need flash attention");
  }
  Ok(vec![wanted])
}

pub(super) fn describe(input: &FitInput, context: u32, cache: CacheKind, why: &str) -> FitPlan {
  let kv_bytes = input.kv_bytes(context, cache);
  let trimmed = if cache.windows == Windows::Trimmed { ", sliding windows trimmed" } else { "" };
  FitPlan {
    context,
    kv_k: cache.k,
    kv_v: cache.v,
    windows: cache.windows,
    kv_bytes,
    weight_bytes: input.weight_bytes,
    tokenizer_bytes: input.compute.tokenizer_bytes(),
    compute_bytes: input.compute_bytes(context, cache),
    drafter_bytes: input.drafter_bytes(context, cache.windows),
    reason: format!("{context} tokens: {why}; KV cache {cache}, {}{trimmed}", readable(kv_bytes)),
  }
}
