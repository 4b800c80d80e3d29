//! Element types that the KV cache can be stored in.

use std::fmt;
use std::str::FromStr;

use crate::error::{EngineError, ErrorCode};

/// Element type of the keys or of the values in the KV cache. The set is the one llama.cpp accepts on its command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KvType {
  /// 32-bit floats.
  F32,
  /// 16-bit IEEE floats: the default.
  F16,
  /// 16-bit floats with the exponent range of `F32`.
  Bf16,
  /// 8-bit integers, one 16-bit scale per 32 elements.
  Q8_0,
  /// 5-bit integers with scale and minimum.
  Q5_1,
  /// 5-bit integers with scale.
  Q5_0,
  /// 4-bit integers with scale and minimum.
  Q4_1,
  /// 4-bit integers with scale.
  Q4_0,
  /// 4-bit indices into a non-linear table.
  Iq4Nl,
}

impl KvType {
  /// Every type, the most exact first.
  pub const ALL: [Self; 9] = [
    Self::F32,
    Self::F16,
    Self::Bf16,
    Self::Q8_0,
    Self::Q5_1,
    Self::Q5_0,
    Self::Q4_1,
    Self::Q4_0,
    Self::Iq4Nl,
  ];

  /// The name used in options and results, ggml's own in lower case.
  pub const fn as_str(self) -> &'static str {
    match self {
      Self::F32 => "f32",
      Self::F16 => "f16",
      Self::Bf16 => "bf16",
      Self::Q8_0 => "q8_0",
      Self::Q5_1 => "q5_1",
      Self::Q5_0 => "q5_0",
      Self::Q4_1 => "q4_1",
      Self::Q4_0 => "q4_0",
      Self::Iq4Nl => "iq4_nl",
    }
  }

  /// Elements that share one block; the head size must be a multiple of it.
  pub const fn block_elements(self) -> u64 {
    if self.quantized() { 32 } else { 1 }
  }

  /// Bytes of one block.
  pub const fn block_bytes(self) -> u64 {
    match self {
      Self::F32 => 4,
      Self::F16 | Self::Bf16 => 2,
      Self::Q8_0 => 34,
      Self::Q5_1 => 24,
      Self::Q5_0 => 22,
      Self::Q4_1 => 20,
      Self::Q4_0 | Self::Iq4Nl => 18,
    }
  }

  /// Whether elements are stored in blocks of small integers.
  pub const fn quantized(self) -> bool {
    !matches!(self, Self::F32 | Self::F16 | Self::Bf16)
  }

  /// Bytes of a row of `elements`; a last partial block counts whole. Saturates instead of overflowing.
  pub const fn row_bytes(self, elements: u64) -> u64 {
    elements.div_ceil(self.block_elements()).saturating_mul(self.block_bytes())
  }
}

impl fmt::Display for KvType {
  fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(self.as_str())
  }
}

impl FromStr for KvType {
  type Err = EngineError;

  /// Reads a name of [`KvType::as_str`], in any case. Anything else is `INVALID_INPUT` and lists the names.
  fn from_str(text: &str) -> Result<Self, EngineError> {
    let found = Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text));
    found.ok_or_else(|| {
      let names: Vec<_> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
      let shown: String = text.chars().take(40).collect();
      EngineError::new(
        ErrorCode::InvalidInput,
        format!("unknown KV cache type {shown:?}; it is one of {}", names.join(", ")),
      )
    })
  }
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn every_name_reads_back_as_its_type() {
    for kind in KvType::ALL {
      assert_eq!(kind.as_str().parse::<KvType>().unwrap(), kind);
      assert_eq!(kind.as_str().to_uppercase().parse::<KvType>().unwrap(), kind);
    }
  }

  #[test]
  fn an_unknown_name_is_refused_with_the_list_of_names() {
    let error = "q4_k".parse::<KvType>().unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidInput);
    for kind in KvType::ALL {
      assert!(error.to_string().contains(kind.as_str()), "{error}");
    }
  }

  #[test]
  fn rows_have_the_sizes_of_ggml() {
    assert_eq!(KvType::F16.row_bytes(128), 256);
    assert_eq!(KvType::Q8_0.row_bytes(128), 136);
    assert_eq!(KvType::Q5_1.row_bytes(64), 48);
    assert_eq!(KvType::Q4_0.row_bytes(64), 36);
    assert_eq!(KvType::Q8_0.row_bytes(33), 68);
    assert_eq!(KvType::F32.row_bytes(u64::MAX), u64::MAX);
  }
}
