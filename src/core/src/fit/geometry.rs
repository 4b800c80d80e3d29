//! Shape of the KV cache and of recurrent state.

use super::kv_type::KvType;
use super::units::padded;
use crate::error::Result;
use crate::gguf::{GgufHeader, ModelKind};

/// Cache of one layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LayerCache {
  /// Elements of keys per token, all heads together.
  pub key_elements: u64,
  /// Elements of values per token, all heads together; zero when values are part of the keys.
  pub value_elements: u64,
  /// Elements of one key head; a quantised cache needs a multiple of the block.
  pub key_head: u64,
  /// Elements of one value head.
  pub value_head: u64,
  /// Tokens of the sliding window, when there is one.
  pub window: Option<u32>,
}

/// How many tokens the layers with a sliding window keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Windows {
  /// As many as the other layers: a sequence can be taken back to any position, so that prompts with a common prefix
  /// share it.
  Full,
  /// The window and a micro-batch: far less memory, but going back further means reading the prompt again.
  Trimmed,
}

/// How keys and values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheKind {
  /// Type of the keys.
  pub k: KvType,
  /// Type of the values.
  pub v: KvType,
  /// What layers with a sliding window keep.
  pub windows: Windows,
}

/// Shape of all that a context stores per token and per sequence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KvGeometry {
  /// The layers that own keys and values. Layers that share those of another are not listed.
  pub layers: Vec<LayerCache>,
  /// Bytes of recurrent state per sequence, all layers together (state-space, RWKV and hybrid models).
  pub state_bytes: u64,
}

impl GgufHeader {
  /// Shape of the KV cache, the input of [`crate::fit::plan`].
  pub fn geometry(&self) -> Result<KvGeometry> {
    KvGeometry::from_header(self)
  }
}

impl KvGeometry {
  /// The geometry of a model; empty for a bare vocabulary and for encoders, which have no cache.
  pub fn from_header(header: &GgufHeader) -> Result<Self> {
    if header.kind == ModelKind::Vocabulary {
      return Ok(Self::default());
    }
    let layers = header.layers()?;
    let owners = layers.all.iter().filter(|layer| layer.owns_cache);
    let caches = owners.map(|layer| LayerCache {
      // The second cache of keys that sparse attention chooses from has the type of the first.
      key_elements: layer.kv_heads * layer.key_length + layer.indexer_length,
      value_elements: layer.kv_heads * layer.value_length,
      key_head: layer.key_length,
      value_head: layer.value_length,
      window: layer.window.and_then(|window| u32::try_from(window).ok()),
    });
    let caches = caches.filter(|cache| cache.key_elements + cache.value_elements > 0).collect();
    let recurrent = layers.all.iter().filter(|layer| layer.recurrent).count() as u64;
    // State is kept in 32-bit floats whatever the type of the cache.
    let state_bytes = recurrent.saturating_mul(layers.state_elements).saturating_mul(4);
    Ok(Self { layers: caches, state_bytes })
  }

  /// Bytes llama.cpp allocates for `context` tokens shared by `sequences` (unified cache), with keys of type `k`,
  /// values of type `v` and micro-batches of `micro_batch` tokens.
  ///
  /// Cells are padded to 256. A sliding layer has as many as the others when `windows` is [`Windows::Full`], else
  /// `min(context, window * sequences + micro_batch)`, padded likewise (`llama_kv_cache_iswa`). Values are assumed not
  /// transposed, that is, flash attention on: without it models whose layers differ in value size allocate the largest
  /// for each.
  pub fn bytes(&self, context: u32, sequences: u32, micro_batch: u32, cache: CacheKind) -> u64 {
    let layer_bytes = |layer: &LayerCache| {
      let own = cells(layer.window, context, sequences, micro_batch, cache.windows);
      let row = cache.k.row_bytes(layer.key_elements).saturating_add(cache.v.row_bytes(layer.value_elements));
      row.saturating_mul(own)
    };
    let caches = self.layers.iter().map(layer_bytes).fold(0, u64::saturating_add);
    caches.saturating_add(self.state_bytes.saturating_mul(u64::from(sequences.max(1))))
  }

  /// Cells that attention masks cover, all masks together: layers with a sliding window have one of their own.
  pub fn mask_cells(&self, context: u32, sequences: u32, micro_batch: u32, windows: Windows) -> u64 {
    let of = |window| cells(window, context, sequences, micro_batch, windows);
    let widest = self.layers.iter().filter_map(|layer| layer.window).max();
    of(None).saturating_add(widest.map_or(0, |window| of(Some(window))))
  }

  /// Whether some layers have a sliding window.
  pub fn slides(&self) -> bool {
    self.layers.iter().any(|layer| layer.window.is_some())
  }

  /// Whether keys of type `k` and values of type `v` can be stored: heads must be whole blocks.
  pub fn supports(&self, k: KvType, v: KvType) -> bool {
    self.layers.iter().all(|layer| {
      layer.key_head.is_multiple_of(k.block_elements()) && layer.value_head.is_multiple_of(v.block_elements())
    })
  }
}

/// Cells of a layer.
fn cells(window: Option<u32>, context: u32, sequences: u32, micro_batch: u32, windows: Windows) -> u64 {
  let whole = padded(u64::from(context));
  match (window, windows) {
    (Some(window), Windows::Trimmed) => {
      let kept = u64::from(window) * u64::from(sequences.max(1)) + u64::from(micro_batch);
      padded(whole.min(kept))
    }
    _ => whole,
  }
}

#[cfg(test)]
mod tests {
  use super::*;

  fn cache(k: KvType, v: KvType) -> CacheKind {
    CacheKind { k, v, windows: Windows::Trimmed }
  }

  fn layer(window: Option<u32>) -> LayerCache {
    LayerCache { key_elements: 256, value_elements: 128, key_head: 64, value_head: 32, window }
  }

  #[test]
  fn cells_are_padded_to_256() {
    let geometry = KvGeometry { layers: vec![layer(None); 3], state_bytes: 0 };
    let row = (256 + 128) * 2;
    assert_eq!(geometry.bytes(300, 1, 512, cache(KvType::F16, KvType::F16)), 3 * 512 * row);
    assert_eq!(geometry.bytes(512, 4, 512, cache(KvType::F16, KvType::F16)), 3 * 512 * row);
    assert_eq!(geometry.bytes(256, 1, 512, cache(KvType::Q8_0, KvType::F16)), 3 * 256 * (8 * 34 + 256));
  }

  #[test]
  fn sliding_layers_hold_the_window_of_every_sequence_and_a_micro_batch() {
    let geometry = KvGeometry { layers: vec![layer(Some(1024))], state_bytes: 0 };
    let row = (256 + 128) * 2;
    assert_eq!(geometry.bytes(8192, 1, 512, cache(KvType::F16, KvType::F16)), 1536 * row);
    assert_eq!(geometry.bytes(8192, 2, 100, cache(KvType::F16, KvType::F16)), 2304 * row);
    assert_eq!(geometry.bytes(512, 1, 512, cache(KvType::F16, KvType::F16)), 512 * row);
  }

  #[test]
  fn full_windows_cost_as_much_as_layers_without_one() {
    let (sliding, dense) = (layer(Some(512)), layer(None));
    let bytes = |layer| {
      let full = CacheKind { windows: Windows::Full, ..cache(KvType::F16, KvType::F16) };
      KvGeometry { layers: vec![layer], state_bytes: 0 }.bytes(8192, 1, 512, full)
    };
    assert_eq!(bytes(sliding), bytes(dense));
  }

  #[test]
  fn recurrent_state_counts_once_per_sequence() {
    let geometry = KvGeometry { layers: Vec::new(), state_bytes: 1000 };
    assert_eq!(geometry.bytes(4096, 1, 512, cache(KvType::F16, KvType::F16)), 1000);
    assert_eq!(geometry.bytes(8192, 3, 512, cache(KvType::F16, KvType::F16)), 3000);
  }

  #[test]
  fn heads_that_are_not_whole_blocks_cannot_be_quantised() {
    let odd = LayerCache { key_head: 80, value_head: 80, ..layer(None) };
    let geometry = KvGeometry { layers: vec![layer(None), odd], state_bytes: 0 };
    assert!(geometry.supports(KvType::F16, KvType::Bf16));
    assert!(!geometry.supports(KvType::Q8_0, KvType::F16));
    assert!(!geometry.supports(KvType::F16, KvType::Q4_0));
  }
}
