//! What cannot run whatever else runs.

use super::request::Request;
use crate::error::{EngineError, ErrorCode, Result};
use crate::history::History;
use crate::options::ContextFull;

/// The error of a generation that must not end because the context is full.
pub(crate) fn context_full(tokens: usize, context_size: usize) -> EngineError {
  EngineError::new(
    ErrorCode::ContextOverflow,
    format!(
      "prompt and answer have {tokens} tokens and fill the context of {context_size}: shorten the prompt, limit maxTokens \
       or open a larger context"
    ),
  )
}

/// Rejects what the context cannot run whatever else runs.
pub(crate) fn check_request(request: &Request, context_size: usize, can_shift: bool) -> Result<()> {
  if matches!(request.options.queue.context_full, ContextFull::Shift { .. }) && !can_shift {
    return Err(EngineError::new(
      ErrorCode::Unsupported,
      "the memory of this model cannot move positions (sliding-window attention or recurrent state), so contextFull \
       cannot be \"shift\"",
    ));
  }
  check_prompt(&request.prompt, context_size)
}

/// Rejects a prompt that cannot be decoded in a context of `context_size` tokens.
fn check_prompt(prompt: &History, context_size: usize) -> Result<()> {
  if prompt.is_empty() {
    return Err(EngineError::new(ErrorCode::InvalidInput, "the prompt is empty: give at least one token"));
  }
  if prompt.tail().is_empty() {
    return Err(EngineError::new(
      ErrorCode::InvalidInput,
      "the prompt ends with media: add the text that follows it",
    ));
  }
  if prompt.len_cells() >= context_size {
    return Err(EngineError::new(
      ErrorCode::ContextOverflow,
      format!(
        "the prompt has {} tokens, but the context holds {context_size} and needs room for at least one more: \
         shorten the prompt or open a larger context",
        prompt.len_cells()
      ),
    ));
  }
  Ok(())
}
