//! What the context of a drafter takes.

use super::compute::{ComputeBatch, ComputeShape};
use super::geometry::{CacheKind, KvGeometry, Windows};
use super::kv_type::KvType;
use crate::error::Result;
use crate::gguf::GgufHeader;
use crate::speculate::Kind;

/// Shape of a drafter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrafterShape {
  /// Shape of its KV cache; none where it shares the model's.
  pub geometry: Option<KvGeometry>,
  /// Shape of its compute buffers.
  pub compute: ComputeShape,
}

impl DrafterShape {
  /// The shape of a drafter of `kind`. Heads have a KV cache, whose shape `Heads` says.
  pub fn from_header(header: &GgufHeader, kind: Kind) -> Result<Self> {
    let geometry = if kind == Kind::DraftModel { Some(KvGeometry::from_header(header)?) } else { None };
    Ok(Self { geometry, compute: ComputeShape::from_header(header)? })
  }

  /// Bytes of its KV cache, which is `f16`, and of its compute buffers, beside a context of this shape. Logits are asked
  /// for one token of each sequence.
  pub fn bytes(
    &self,
    context: u32,
    sequences: u32,
    micro_batch: u32,
    windows: Windows,
    flash_attention: bool,
  ) -> u64 {
    let cache = CacheKind { k: KvType::F16, v: KvType::F16, windows };
    let kv = self.geometry.as_ref().map_or(0, |own| own.bytes(context, sequences, micro_batch, cache));
    let mask_cells = self
      .geometry
      .as_ref()
      .map_or(u64::from(context), |own| own.mask_cells(context, sequences, micro_batch, windows));
    let batch = ComputeBatch { context, mask_cells, micro_batch, outputs: sequences, flash_attention };
    kv.saturating_add(self.compute.bytes(batch))
  }
}
