//! What a window or a probe costs and promises beside the others of a decode. Costs are in tokens that plain decoding
//! would yield in the same time.

use std::ops::RangeInclusive;

use super::costs::Costs;

/// Gain that a window must promise; less is not worth the variance.
pub(super) const WORTHWHILE: f64 = 1.02;
/// Share of the time that probes may take.
const PROBE_SHARE: f64 = 0.01;
/// Longest and shortest pause between two probes, in steps.
const LONGEST_PAUSE: u32 = 64;
pub(super) const SHORTEST_PAUSE: u32 = 4;

/// What else is in the decode.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Beside {
  /// Rows of other sequences.
  pub rows: usize,
  /// Tokens that these are expected to yield.
  pub tokens: f64,
}

/// Cost of `unread` tokens that the drafter has to read.
pub(super) fn reading(costs: &Costs, beside: Beside, unread: usize) -> f64 {
  costs.reading(unread) * (beside.tokens + 1.0) / costs.ratio(beside.rows + 1)
}

/// Cost of a single drafted token that is compared only.
pub(super) fn probe(costs: &Costs, beside: Beside) -> f64 {
  costs.draft(1) * (beside.tokens + 1.0) / costs.ratio(beside.rows + 1)
}

/// Tokens lost against plain decoding when none of `window` drafted tokens is accepted.
pub(super) fn stake(costs: &Costs, beside: Beside, window: usize) -> f64 {
  let plain = costs.ratio(beside.rows + 1);
  let more = costs.ratio(beside.rows + 1 + window) - plain + costs.draft(window);
  more.max(0.0) * (beside.tokens + 1.0) / plain
}

/// Whether some window would pay if every drafted token were right.
#[allow(clippy::cast_precision_loss, reason = "windows are small")]
pub(super) fn could_pay(costs: &Costs, beside: Beside, mut windows: RangeInclusive<usize>) -> bool {
  let rows = beside.rows + 1;
  let plain = (beside.tokens + 1.0) / costs.ratio(rows);
  windows.any(|window| {
    let cost = costs.hopeful_ratio(rows + window) + costs.draft(window);
    beside.tokens + 1.0 + window as f64 > plain * WORTHWHILE * cost
  })
}

/// Steps between probes that keep their cost below [`PROBE_SHARE`].
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before the cast")]
pub(super) fn longest_pause(costs: &Costs) -> u32 {
  let steps = costs.draft(1) / PROBE_SHARE;
  steps.clamp(f64::from(SHORTEST_PAUSE), f64::from(LONGEST_PAUSE)) as u32
}
