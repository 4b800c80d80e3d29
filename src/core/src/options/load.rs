//! How the weights of a model are loaded.

use super::check;
use crate::error::Result;

/// Most bytes that a headroom may name: the largest integer that JavaScript represents exactly.
pub(super) const MAX_HEADROOM: u64 = (1 << 53) - 1;

/// Where weights go and what is checked on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
  clippy::struct_excessive_bools,
  reason = "independent switches, each named like its llama.cpp parameter"
)]
pub struct LoadOptions {
  /// Layers kept in GPU memory, from the last one down; 0 keeps all on the CPU, a number above the layers of the model
  /// offloads all. Default -1: as many as fit.
  pub gpu_layers: i32,
  /// Maps the file instead of reading it, so that the page cache is shared and unused pages can go. Default true.
  pub use_mmap: bool,
  /// Locks the weights in memory; needs the right to lock that much. Default false.
  pub use_mlock: bool,
  /// Checks the values of all tensors while loading, which reads the whole file. Default false.
  pub check_tensors: bool,
  /// Loads even when the weights do not fit the memory that is available. Default false.
  pub ignore_memory_limit: bool,
  /// Loads the multi-token-prediction heads that the file may bring along, with which contexts can draft. Default false:
  /// they take the memory of a layer each, and nothing else uses them.
  pub heads: bool,
  /// Bytes of memory to leave to others, 0 to 2^53 - 1. Default `None`: decided by the size of the machine.
  pub memory_headroom: Option<u64>,
}

impl Default for LoadOptions {
  fn default() -> Self {
    Self {
      gpu_layers: -1,
      use_mmap: true,
      use_mlock: false,
      check_tensors: false,
      ignore_memory_limit: false,
      heads: false,
      memory_headroom: None,
    }
  }
}

impl LoadOptions {
  /// Checks every field against its range.
  ///
  /// # Errors
  /// `INVALID_INPUT` that names the field, its value and what is allowed.
  pub fn validate(&self) -> Result<()> {
    check::in_range("gpuLayers", self.gpu_layers, -1..=i32::MAX)?;
    check::in_range("memoryHeadroomBytes", self.memory_headroom.unwrap_or(0), 0..=MAX_HEADROOM)
  }
}
