//! A small model on a machine with room.

use local_inference_core::fit::{ComputeShape, FitInput, KvGeometry, LayerCache};

pub(crate) const MIB: u64 = 1 << 20;

/// A model with 100 MiB of weights and 1 KiB of f16 cache per token.
pub(crate) fn input() -> FitInput {
  let layer =
    LayerCache { key_elements: 128, value_elements: 128, key_head: 64, value_head: 64, window: None };
  FitInput {
    weight_bytes: 100 * MIB,
    weights_loaded: false,
    training_context: 8192,
    geometry: KvGeometry { layers: vec![layer; 2], state_bytes: 0 },
    compute: ComputeShape {
      vocabulary: 1000,
      embedding: 128,
      feed_forward: 512,
      heads: 2,
      query: 128,
      ..ComputeShape::default()
    },
    flash_attention: true,
    memory_available: 1024 * MIB,
    headroom: 64 * MIB,
    requested_context: None,
    kv_k: None,
    kv_v: None,
    sequences: 1,
    micro_batch: 64,
    outputs: 1,
    drafter: None,
  }
}
