//! What is missing, and what would fit.

use super::geometry::CacheKind;
use super::input::FitInput;
use super::units::{CONTEXT_STEP, readable};
use crate::error::{EngineError, ErrorCode, Result};

/// Refuses weights that are larger than the memory.
pub(super) fn check_weights(input: &FitInput) -> Result<()> {
  let missing = input.weight_bytes.saturating_sub(input.budget());
  if input.weights_loaded || missing == 0 {
    return Ok(());
  }
  Err(EngineError::new(
    ErrorCode::OutOfMemory,
    format!(
      "the weights need {}, but only {} are available ({} free, {} kept as headroom): {} are missing; \
       use a smaller model or quantisation",
      readable(input.weight_bytes),
      readable(input.budget()),
      readable(input.memory_available),
      readable(input.headroom),
      readable(missing)
    ),
  ))
}

fn also(what: &str, bytes: u64) -> String {
  if bytes == 0 { String::new() } else { format!(", {what} {}", readable(bytes)) }
}

/// What a context of this size needs and what is there.
pub(super) fn too_large(
  input: &FitInput,
  context: u32,
  cache: CacheKind,
  largest: Option<u32>,
) -> EngineError {
  let remedy = match largest {
    Some(largest) => format!("the largest context that fits is {largest} tokens"),
    None => format!("not even {} tokens fit", input.training_context.min(CONTEXT_STEP)),
  };
  let message = format!(
    "a context of {context} tokens needs {} (KV cache {cache} {}, compute {}{}{}), but only {} are available; {remedy}",
    readable(input.needed(context, cache)),
    readable(input.kv_bytes(context, cache)),
    readable(input.compute_bytes(context, cache)),
    also("drafter", input.drafter_bytes(context, cache.windows)),
    also("weights", if input.weights_loaded { 0 } else { input.weight_bytes }),
    readable(input.budget()),
  );
  EngineError::new(ErrorCode::OutOfMemory, message)
}
