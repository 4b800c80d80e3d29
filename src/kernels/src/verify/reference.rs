//! The file that the second implementation writes (`scripts/kernels`), and the inputs that it names by their seeds.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
  pub(super) scores: Vec<ScoreCase>,
  pub(super) multi_block: Vec<MultiBlockCase>,
  pub(super) pre_rotated: PreRotatedCase,
  pub(super) attention: Vec<AttentionCase>,
}

/// Keys and one query, drawn in this order.
#[derive(Deserialize)]
pub(super) struct ScoreCase {
  pub(super) format: String,
  pub(super) elements: usize,
  pub(super) rows: usize,
  pub(super) seed: u32,
  pub(super) blocks: Vec<String>,
  pub(super) scores: Vec<f64>,
}

/// One key and queries, drawn in this order; `decoded` is its first block.
#[derive(Deserialize)]
pub(super) struct MultiBlockCase {
  pub(super) format: String,
  pub(super) blocks: usize,
  pub(super) queries: usize,
  pub(super) seed: u32,
  pub(super) bytes: String,
  pub(super) decoded: Vec<f64>,
  pub(super) scores: Vec<f64>,
}

/// Keys and a query in the basis of their codes.
#[derive(Deserialize)]
pub(super) struct PreRotatedCase {
  pub(super) format: String,
  pub(super) blocks: Vec<String>,
  pub(super) query: Vec<f32>,
  pub(super) scores: Vec<f64>,
}

/// Keys in QJL, values and queries, drawn in this order.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AttentionCase {
  pub(super) gate: String,
  pub(super) values: String,
  pub(super) head_length: usize,
  pub(super) tokens: usize,
  pub(super) visible: usize,
  pub(super) kv_heads: usize,
  pub(super) group: usize,
  pub(super) seed: u32,
  pub(super) keys_hash: u32,
  pub(super) values_hash: u32,
  pub(super) outputs: Vec<f64>,
}

/// # Panics
/// If `text` is not pairs of hexadecimal digits.
pub(super) fn bytes_of(text: &str) -> Vec<u8> {
  let (pairs, _) = text.as_bytes().as_chunks::<2>();
  let digit = |symbol: u8| char::from(symbol).to_digit(16).expect("a hexadecimal digit");
  #[allow(clippy::cast_possible_truncation)] // two digits
  pairs.iter().map(|[high, low]| (digit(*high) * 16 + digit(*low)) as u8).collect()
}

/// FNV-1a of 32 bits.
pub(super) fn hash(bytes: &[u8]) -> u32 {
  bytes.iter().fold(0x811C_9DC5, |state, byte| (state ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
