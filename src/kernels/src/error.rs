/// Why a kernel refused its input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
  /// A slice is not as long as the format or the shape asks for.
  #[error("{what}: {actual} given, {expected} needed")]
  Length {
    /// The slice.
    what: &'static str,
    /// What it must be, as words.
    expected: String,
    /// Its length.
    actual: usize,
  },
  /// A value to encode is NaN or infinite.
  #[error("value {index} is not finite: formats without a code for it cannot hold it")]
  NotFinite {
    /// Position in the row.
    index: usize,
  },
  /// The scale of a block is larger than its 16 bits can hold.
  #[error("block {block} is too large: its scale exceeds what 16 bits can hold; scale the row down")]
  TooLarge {
    /// Position in the row.
    block: usize,
  },
  /// A stored scale is NaN or infinite, so the bytes are damaged or of another format.
  #[error("block {block} is damaged: its scale is not a finite number")]
  Damaged {
    /// Position in the rows.
    block: usize,
  },
  /// A score or a sum is too large for f32.
  #[error("attention of head {head} is not a finite number: the keys or the queries are too large")]
  Overflow {
    /// Query head.
    head: usize,
  },
  /// The caller asked to stop.
  #[error("stopped before the end")]
  Cancelled,
  /// Heads, tokens and rows do not fit together.
  #[error("{0}")]
  Shape(String),
}

impl KernelError {
  /// A stable name: `LENGTH`, `NOT_FINITE`, `TOO_LARGE`, `DAMAGED`, `OVERFLOW`, `CANCELLED` or `SHAPE`.
  pub fn code(&self) -> &'static str {
    match self {
      Self::Length { .. } => "LENGTH",
      Self::NotFinite { .. } => "NOT_FINITE",
      Self::TooLarge { .. } => "TOO_LARGE",
      Self::Damaged { .. } => "DAMAGED",
      Self::Overflow { .. } => "OVERFLOW",
      Self::Cancelled => "CANCELLED",
      Self::Shape(_) => "SHAPE",
    }
  }
}

/// Why a block cannot be written: its scale does not fit 16 bits.
pub(crate) struct TooLarge;

pub(crate) fn multiple_of(what: &'static str, actual: usize, unit: usize) -> Result<(), KernelError> {
  if actual > 0 && actual.is_multiple_of(unit) {
    return Ok(());
  }
  Err(KernelError::Length { what, expected: format!("a multiple of {unit}"), actual })
}

pub(crate) fn exactly(what: &'static str, actual: usize, expected: usize) -> Result<(), KernelError> {
  if actual == expected {
    return Ok(());
  }
  Err(KernelError::Length { what, expected: expected.to_string(), actual })
}
