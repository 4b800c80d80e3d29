//! Estimate of the compute buffers.

use super::{MIB, padded};
use crate::error::Result;
use crate::gguf::{GgufHeader, ModelKind};

/// Widths of a model that decide the size of its compute buffers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ComputeShape {
  /// Tokens in the vocabulary.
  pub vocabulary: u64,
  /// Width of the hidden state.
  pub embedding: u64,
  /// Widest feed-forward network, that of the experts used together included.
  pub feed_forward: u64,
  /// Most query heads of a layer.
  pub heads: u64,
  /// Widest query of a layer: heads times head length.
  pub query: u64,
}

impl ComputeShape {
  /// The widths of a model; all zero but the vocabulary for a bare vocabulary.
  pub fn from_header(header: &GgufHeader) -> Result<Self> {
    let vocabulary = u64::from(header.vocabulary_size);
    if header.kind == ModelKind::Vocabulary {
      return Ok(Self { vocabulary, ..Self::default() });
    }
    let layers = header.layers()?;
    let number = |name: &str| {
      let key = format!("{}.{name}", header.architecture);
      let metadata = header.metadata();
      let list = || metadata.get_array(&key)?.unsigned()?.into_iter().max();
      metadata.get_u64(&key).or_else(list).unwrap_or(0)
    };
    let most = |of: fn(&crate::gguf::Layer) -> u64| layers.all.iter().map(of).max().unwrap_or(0);
    let experts = number("expert_feed_forward_length").saturating_mul(number("expert_used_count"));
    Ok(Self {
      vocabulary,
      embedding: u64::from(header.embedding_length),
      feed_forward: most(|layer| layer.feed_forward).max(experts),
      heads: most(|layer| layer.heads),
      query: most(|layer| layer.heads * layer.key_length),
    })
  }

  /// Estimated bytes of the compute buffers for `context` tokens in micro-batches of `micro_batch`.
  ///
  /// Per token of a micro-batch, in 32-bit floats: the logits (llama.cpp reserves them for every token), six rows of
  /// the hidden state, three of the feed-forward network and three of the queries. Per token and cell of the cache:
  /// six bytes of attention mask (32-bit and its 16-bit copy), and without flash attention one 32-bit score per head.
  /// Eight MiB stand for the graph itself.
  pub fn bytes(&self, context: u32, micro_batch: u32, flash_attention: bool) -> u64 {
    let cells = padded(u64::from(context));
    let tokens = u64::from(micro_batch.max(1)).min(cells.max(1));
    let rows = [self.vocabulary, 6 * self.embedding, 3 * self.feed_forward, 3 * self.query];
    let per_token = rows.into_iter().fold(0, u64::saturating_add).saturating_mul(4);
    let per_cell = if flash_attention { 6 } else { 6 + 4 * self.heads };
    let per_token = per_token.saturating_add(cells.saturating_mul(per_cell));
    tokens.saturating_mul(per_token).saturating_add(8 * MIB)
  }
}

/// [`ComputeShape::bytes`] of a model.
pub fn compute_bytes(
  header: &GgufHeader,
  context: u32,
  micro_batch: u32,
  flash_attention: bool,
) -> Result<u64> {
  Ok(ComputeShape::from_header(header)?.bytes(context, micro_batch, flash_attention))
}

#[cfg(test)]
mod tests {
  use super::*;

  const SHAPE: ComputeShape =
    ComputeShape { vocabulary: 32_000, embedding: 2048, feed_forward: 8192, heads: 32, query: 2048 };

  #[test]
  fn logits_of_a_micro_batch_dominate() {
    let bytes = SHAPE.bytes(4096, 512, true);
    assert!(bytes > 512 * 32_000 * 4);
    assert!(bytes < 3 * 512 * 32_000 * 4);
  }

  #[test]
  fn scores_cost_memory_only_without_flash_attention() {
    let scores = SHAPE.bytes(4096, 512, false) - SHAPE.bytes(4096, 512, true);
    assert_eq!(scores, 4096 * 512 * 32 * 4);
  }

  #[test]
  fn a_micro_batch_is_not_larger_than_the_context() {
    assert_eq!(SHAPE.bytes(256, 512, true), SHAPE.bytes(256, 256, true));
  }
}
