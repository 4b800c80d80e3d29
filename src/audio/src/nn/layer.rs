//! What a matrix product is asked for, and the matrix in the order in which the kernel reads it.

use super::level::Level;

/// A run of inputs that lie side by side: `length` of them, beginning `offset` after the position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
  pub(crate) offset: usize,
  pub(crate) length: usize,
}

/// What is done to a sum: `max(sum, slope * sum)`, then at least `floor`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Activation {
  pub(crate) slope: f32,
  pub(crate) floor: f32,
}

impl Activation {
  pub(crate) const NONE: Self = Self { slope: 1.0, floor: f32::NEG_INFINITY };
  pub(crate) const RELU: Self = Self { slope: 0.0, floor: f32::NEG_INFINITY };
}

/// Weights in the order in which the kernel reads them: panels of a few vectors of outputs, and in each panel one row for
/// each input.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
  pub(super) level: Level,
  pub(super) inputs: usize,
  pub(super) outputs: usize,
  /// Vectors in a panel.
  pub(super) vectors: usize,
  pub(super) panels: Vec<f32>,
  pub(super) bias: Vec<f32>,
}
