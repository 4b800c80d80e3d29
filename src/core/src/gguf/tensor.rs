//! Tensor types and the table of tensors.

use super::error::{damaged, unsupported};
use crate::error::Result;

/// A ggml tensor type: how elements are packed into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorType {
  /// ggml's number for the type.
  pub code: u32,
  /// Name as people write it, e.g. `Q4_K`.
  pub name: &'static str,
  /// Elements per block; a row is a whole number of blocks.
  pub block_elements: u64,
  /// Bytes per block.
  pub block_bytes: u64,
}

/// Code, name, elements and bytes per block of every type of ggml 0.26.
const TYPES: [(u32, &str, u64, u64); 35] = [
  (0, "F32", 1, 4),
  (1, "F16", 1, 2),
  (2, "Q4_0", 32, 18),
  (3, "Q4_1", 32, 20),
  (6, "Q5_0", 32, 22),
  (7, "Q5_1", 32, 24),
  (8, "Q8_0", 32, 34),
  (9, "Q8_1", 32, 36),
  (10, "Q2_K", 256, 84),
  (11, "Q3_K", 256, 110),
  (12, "Q4_K", 256, 144),
  (13, "Q5_K", 256, 176),
  (14, "Q6_K", 256, 210),
  (15, "Q8_K", 256, 292),
  (16, "IQ2_XXS", 256, 66),
  (17, "IQ2_XS", 256, 74),
  (18, "IQ3_XXS", 256, 98),
  (19, "IQ1_S", 256, 50),
  (20, "IQ4_NL", 32, 18),
  (21, "IQ3_S", 256, 110),
  (22, "IQ2_S", 256, 82),
  (23, "IQ4_XS", 256, 136),
  (24, "I8", 1, 1),
  (25, "I16", 1, 2),
  (26, "I32", 1, 4),
  (27, "I64", 1, 8),
  (28, "F64", 1, 8),
  (29, "IQ1_M", 256, 56),
  (30, "BF16", 1, 2),
  (34, "TQ1_0", 256, 54),
  (35, "TQ2_0", 256, 66),
  (39, "MXFP4", 32, 17),
  (40, "NVFP4", 64, 36),
  (41, "Q1_0", 128, 18),
  (42, "Q2_0", 64, 18),
];

impl TensorType {
  /// The type with ggml's number `code`, if this build of ggml has it.
  pub fn from_code(code: u32) -> Option<Self> {
    let &(code, name, block_elements, block_bytes) = TYPES.iter().find(|entry| entry.0 == code)?;
    Some(Self { code, name, block_elements, block_bytes })
  }

  /// Whether the CPU backend can multiply with or look up rows of a matrix of this type.
  pub(super) fn usable_as_matrix(self) -> bool {
    !matches!(self.name, "I8" | "I16" | "I64" | "F64" | "Q8_1" | "Q8_K")
  }

  pub(super) fn require(code: u32, tensor: &str) -> Result<Self> {
    Self::from_code(code).ok_or_else(|| match code {
      4 | 5 | 31..=33 | 36..=38 => unsupported(format!(
        "tensor {tensor:?} has a type (number {code}) that ggml no longer supports; \
         use a file quantised with a current version"
      )),
      _ => unsupported(format!(
        "tensor {tensor:?} has the type number {code}, which this build does not know; \
         use another quantisation of the model"
      )),
    })
  }
}

/// One entry of the tensor table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
  /// Name, unique within the model, shorter than 64 bytes.
  pub name: String,
  /// Elements per dimension, the contiguous one first; at most four.
  pub dimensions: Vec<u64>,
  /// Element type.
  pub kind: TensorType,
  /// Start of the data, bytes from the start of the data section of its file.
  pub offset: u64,
  /// Size of the data.
  pub bytes: u64,
}

impl TensorInfo {
  /// Product of the dimensions.
  pub fn elements(&self) -> u64 {
    self.dimensions.iter().product()
  }

  /// Dimension `index`, 1 beyond the last.
  pub fn dimension(&self, index: usize) -> u64 {
    self.dimensions.get(index).copied().unwrap_or(1)
  }

  /// Bytes of `dimensions` elements of `kind`, refusing products beyond 63 bits and partial blocks.
  pub(super) fn size(name: &str, dimensions: &[u64], kind: TensorType) -> Result<u64> {
    let limit = i64::MAX.unsigned_abs();
    let mut elements: u64 = 1;
    for &length in dimensions {
      if length == 0 {
        return Err(damaged(format_args!("tensor {name:?} has an empty dimension")));
      }
      elements = elements
        .checked_mul(length)
        .filter(|product| *product <= limit)
        .ok_or_else(|| damaged(format_args!("tensor {name:?} has absurd dimensions {dimensions:?}")))?;
    }
    let row = dimensions.first().copied().unwrap_or(1);
    if row % kind.block_elements != 0 {
      return Err(damaged(format_args!(
        "tensor {name:?} has rows of {row} elements, not a multiple of the {} of a {} block",
        kind.block_elements, kind.name
      )));
    }
    (elements / kind.block_elements)
      .checked_mul(kind.block_bytes)
      .filter(|bytes| *bytes <= limit)
      .ok_or_else(|| damaged(format_args!("tensor {name:?} has absurd dimensions {dimensions:?}")))
  }
}
