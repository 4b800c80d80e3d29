//! What a model would take and whether it fits, as numbers instead of a refusal.

use super::input::FitInput;
use super::plan::{self, FitPlan};
use super::units::CONTEXT_STEP;
use crate::error::{ErrorCode, Result};

/// The outcome of [`assess`]. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
  /// Whether it can be loaded with the wanted context, or with some context when none is wanted.
  pub fits: bool,
  /// The choice; when it does not fit, the wanted context (or the smallest) stored in the least memory.
  pub plan: FitPlan,
  /// Weights, tokenizer, cache and compute buffers together; without the first two where they are in memory already.
  pub needed: u64,
  /// Memory that may be used, headroom taken off.
  pub budget: u64,
  /// What lacks; zero when it fits.
  pub missing: u64,
  /// The longest context that fits, zero when none does.
  pub largest_context: u32,
}

/// Numbers for a model on a machine.
///
/// `UNSUPPORTED` and `INVALID_INPUT` as [`plan::plan`]; never `OUT_OF_MEMORY`.
pub fn assess(input: &FitInput) -> Result<Assessment> {
  let outcome = plan::plan(input);
  if let Err(error) = &outcome
    && error.code() != ErrorCode::OutOfMemory
  {
    return Err(error.clone());
  }
  let choices = plan::choices(input)?;
  let largest_context = plan::largest(input, &choices).map_or(0, |choice| choice.0);
  let fits = outcome.is_ok();
  let plan = outcome.unwrap_or_else(|error| {
    let wanted = input.requested_context.filter(|context| *context > 0);
    let context = wanted.unwrap_or(input.training_context.min(CONTEXT_STEP));
    let mut plan = plan::describe(input, context, plan::cheapest(&choices), "does not fit");
    plan.reason = error.to_string();
    plan
  });
  let needed = input.model_bytes().saturating_add(plan.kv_bytes).saturating_add(plan.compute_bytes);
  let budget = input.budget();
  Ok(Assessment { fits, needed, budget, missing: needed.saturating_sub(budget), largest_context, plan })
}
