use half::{bf16, f16};

use crate::error::TooLarge;
use crate::formats::{polar, qjl, tcq, turbo, turbo_k};
use crate::simd::InstructionSet;

/// A block format. Layouts are little endian; docs/kernels.md has them byte by byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
  /// turbo3: 32 elements in 14 bytes.
  Tbq3_0,
  /// turbo4: 32 elements in 18 bytes.
  Tbq4_0,
  /// 256 elements in 98 bytes.
  Tbq3K,
  /// 256 elements in 130 bytes.
  Tbq4K,
  /// `turbo3_tcq`: 128 elements in 52 bytes.
  Tbq3Tcq,
  /// 256 signs of projections of 128 elements, in 34 bytes.
  Qjl1_256,
  /// 128 elements in 82 bytes, of which the last 16 are not used.
  Q4Polar,
  /// `Q4_POLAR` with one bit of its last 16 bytes: a correction that makes the block worse (docs/kernels.md).
  Q4PolarResidual,
}

impl Format {
  /// All of them.
  pub const ALL: [Self; 8] = [
    Self::Tbq3_0,
    Self::Tbq4_0,
    Self::Tbq3K,
    Self::Tbq4K,
    Self::Tbq3Tcq,
    Self::Qjl1_256,
    Self::Q4Polar,
    Self::Q4PolarResidual,
  ];

  /// The name that files and evidence use, such as `TBQ3_0`.
  pub fn name(self) -> &'static str {
    match self {
      Self::Tbq3_0 => "TBQ3_0",
      Self::Tbq4_0 => "TBQ4_0",
      Self::Tbq3K => "TBQ3_K",
      Self::Tbq4K => "TBQ4_K",
      Self::Tbq3Tcq => "TBQ3_TCQ",
      Self::Qjl1_256 => "QJL1_256",
      Self::Q4Polar => "Q4_POLAR",
      Self::Q4PolarResidual => "Q4_POLAR+residual",
    }
  }

  /// The format of that [`name`](Self::name).
  pub fn named(name: &str) -> Option<Self> {
    Self::ALL.into_iter().find(|format| format.name() == name)
  }

  /// Elements in a block. Rows are whole blocks.
  pub fn block_elements(self) -> usize {
    match self {
      Self::Tbq3_0 | Self::Tbq4_0 => turbo::ELEMENTS,
      Self::Tbq3K | Self::Tbq4K => turbo_k::ELEMENTS,
      Self::Tbq3Tcq | Self::Qjl1_256 | Self::Q4Polar | Self::Q4PolarResidual => 128,
    }
  }

  /// Bytes of a block.
  pub fn block_bytes(self) -> usize {
    match self {
      Self::Tbq3_0 => 14,
      Self::Tbq4_0 => 18,
      Self::Tbq3K => 98,
      Self::Tbq4K => 130,
      Self::Tbq3Tcq => tcq::BYTES,
      Self::Qjl1_256 => qjl::BYTES,
      Self::Q4Polar | Self::Q4PolarResidual => polar::BYTES,
    }
  }

  /// Values that stand for a block in the basis in which its codes are: as many as elements, but 256 signs for QJL.
  pub(crate) fn basis_values(self) -> usize {
    if self == Self::Qjl1_256 { qjl::SIGNS } else { self.block_elements() }
  }

  /// Whether a block's scale is a finite number.
  pub(crate) fn is_sound(self, block: &[u8]) -> bool {
    let at = match self {
      Self::Tbq3_0 | Self::Tbq4_0 | Self::Tbq3Tcq | Self::Q4Polar | Self::Q4PolarResidual => 0,
      Self::Tbq3K | Self::Tbq4K => block.len() - 2,
      Self::Qjl1_256 => 32,
    };
    let bits = u16::from_le_bytes([block[at], block[at + 1]]);
    if self == Self::Qjl1_256 { bf16::from_bits(bits).is_finite() } else { f16::from_bits(bits).is_finite() }
  }

  /// Writes one block of finite values.
  pub(crate) fn encode(self, values: &[f64], block: &mut [u8]) -> Result<(), TooLarge> {
    match self {
      Self::Tbq3_0 => turbo::THREE.encode(values, block),
      Self::Tbq4_0 => turbo::FOUR.encode(values, block),
      Self::Tbq3K => turbo_k::THREE.encode(values, block),
      Self::Tbq4K => turbo_k::FOUR.encode(values, block),
      Self::Tbq3Tcq => tcq::encode(values, block),
      Self::Qjl1_256 => qjl::encode(values, block),
      Self::Q4Polar => polar::encode(values, block, false),
      Self::Q4PolarResidual => polar::encode(values, block, true),
    }
  }

  /// Takes one block of a query to the basis where `score` is a dot product with the codes.
  pub(crate) fn enter_basis(self, isa: InstructionSet, query: &[f32], basis: &mut [f32]) {
    match self {
      Self::Tbq3_0 | Self::Tbq4_0 => turbo::to_basis(isa, query, basis),
      Self::Tbq3K | Self::Tbq4K => turbo_k::to_basis(query, basis),
      Self::Tbq3Tcq => tcq::to_basis(isa, query, basis),
      Self::Qjl1_256 => qjl::to_basis(query, basis),
      Self::Q4Polar | Self::Q4PolarResidual => polar::to_basis(isa, query, basis),
    }
  }

  /// The dot product of a block with a query that [`Self::enter_basis`] made.
  pub(crate) fn score(self, isa: InstructionSet, block: &[u8], basis: &[f32]) -> f32 {
    match self {
      Self::Tbq3_0 => turbo::THREE.score(isa, block, basis),
      Self::Tbq4_0 => turbo::FOUR.score(isa, block, basis),
      Self::Tbq3K => turbo_k::THREE.score(isa, block, basis),
      Self::Tbq4K => turbo_k::FOUR.score(isa, block, basis),
      Self::Tbq3Tcq => tcq::score(isa, block, basis),
      Self::Qjl1_256 => qjl::score(isa, block, basis),
      Self::Q4Polar => polar::score(isa, block, basis, false),
      Self::Q4PolarResidual => polar::score(isa, block, basis, true),
    }
  }

  /// `sum += weight * block`, in the basis of the codes.
  pub(crate) fn add(self, isa: InstructionSet, sum: &mut [f32], block: &[u8], weight: f32) {
    match self {
      Self::Tbq3_0 => turbo::THREE.add(isa, sum, block, weight),
      Self::Tbq4_0 => turbo::FOUR.add(isa, sum, block, weight),
      Self::Tbq3K => turbo_k::THREE.add(isa, sum, block, weight),
      Self::Tbq4K => turbo_k::FOUR.add(isa, sum, block, weight),
      Self::Tbq3Tcq => tcq::add(isa, sum, block, weight),
      Self::Qjl1_256 => qjl::add(isa, sum, block, weight),
      Self::Q4Polar => polar::add(isa, sum, block, weight, false),
      Self::Q4PolarResidual => polar::add(isa, sum, block, weight, true),
    }
  }

  /// Takes a sum of [`Self::add`] back to the elements. `sum` is used up.
  pub(crate) fn leave_basis(self, isa: InstructionSet, sum: &mut [f32], values: &mut [f32]) {
    match self {
      Self::Tbq3_0 | Self::Tbq4_0 => turbo::from_basis(isa, sum, values),
      Self::Tbq3K | Self::Tbq4K => turbo_k::from_basis(sum, values),
      Self::Tbq3Tcq => tcq::from_basis(isa, sum, values),
      Self::Qjl1_256 => qjl::from_basis(sum, values),
      Self::Q4Polar | Self::Q4PolarResidual => polar::from_basis(isa, sum, values),
    }
  }
}
