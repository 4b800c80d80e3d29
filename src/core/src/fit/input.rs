//! What a choice of context depends on, and what each choice would take.

use super::compute::{ComputeBatch, ComputeShape};
use super::drafter::DrafterShape;
use super::geometry::{CacheKind, KvGeometry, Windows};
use super::kv_type::KvType;
use super::units::CONTEXT_STEP;
use crate::error::Result;
use crate::gguf::{GgufHeader, ModelKind};

/// Everything the choice depends on. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitInput {
  /// Size of the weights.
  pub weight_bytes: u64,
  /// Whether `memory_available` was measured with the weights already in memory.
  pub weights_loaded: bool,
  /// Tokens of context the model was trained with: the most that is chosen or allowed. Zero for a bare vocabulary.
  pub training_context: u32,
  /// Shape of the KV cache.
  pub geometry: KvGeometry,
  /// Shape of the compute buffers.
  pub compute: ComputeShape,
  /// Whether attention is computed without materialising the scores. Quantised values need it.
  pub flash_attention: bool,
  /// Memory that this process may still use.
  pub memory_available: u64,
  /// Memory to leave free of that.
  pub headroom: u64,
  /// Size the caller wants; none or zero for the largest that fits.
  pub requested_context: Option<u32>,
  /// Type of the keys, when the caller wants one.
  pub kv_k: Option<KvType>,
  /// Type of the values, when the caller wants one.
  pub kv_v: Option<KvType>,
  /// Sequences that share the context, at least 1.
  pub sequences: u32,
  /// Tokens per micro-batch.
  pub micro_batch: u32,
  /// Most tokens of a micro-batch that logits are asked for: one per sequence, more to verify drafts.
  pub outputs: u32,
  /// The drafter beside the model; its weights are in memory.
  pub drafter: Option<DrafterShape>,
}

impl FitInput {
  /// The input for a model that is not loaded yet: one sequence, micro-batches of 512, flash attention, no wishes.
  pub fn new(header: &GgufHeader, memory_available: u64, headroom: u64) -> Result<Self> {
    Ok(Self {
      weight_bytes: header.weight_bytes,
      weights_loaded: false,
      // A vocabulary may tell the context of the model it was taken from.
      training_context: if header.kind == ModelKind::Vocabulary { 0 } else { header.context_length },
      geometry: KvGeometry::from_header(header)?,
      compute: ComputeShape::from_header(header)?,
      flash_attention: true,
      memory_available,
      headroom,
      requested_context: None,
      kv_k: None,
      kv_v: None,
      sequences: 1,
      micro_batch: 512,
      outputs: 1,
      drafter: None,
    })
  }

  pub(super) fn kv_bytes(&self, context: u32, cache: CacheKind) -> u64 {
    self.geometry.bytes(context, self.sequences, self.micro_batch, cache)
  }

  pub(super) fn compute_bytes(&self, context: u32, cache: CacheKind) -> u64 {
    let (micro_batch, outputs, flash_attention) = (self.micro_batch, self.outputs, self.flash_attention);
    let mask_cells = self.geometry.mask_cells(context, self.sequences, micro_batch, cache.windows);
    self.compute.bytes(ComputeBatch { context, mask_cells, micro_batch, outputs, flash_attention })
  }

  /// What the drafter's context takes.
  pub(super) fn drafter_bytes(&self, context: u32, windows: Windows) -> u64 {
    let Some(drafter) = &self.drafter else { return 0 };
    drafter.bytes(context, self.sequences, self.micro_batch, windows, self.flash_attention)
  }

  /// Bytes of the model itself that are not in memory yet.
  pub(super) fn model_bytes(&self) -> u64 {
    if self.weights_loaded { 0 } else { self.weight_bytes.saturating_add(self.compute.tokenizer_bytes()) }
  }

  /// Memory still to be taken for a context of this size.
  pub(super) fn needed(&self, context: u32, cache: CacheKind) -> u64 {
    let context_bytes = self.kv_bytes(context, cache).saturating_add(self.compute_bytes(context, cache));
    let drafter_bytes = self.drafter_bytes(context, cache.windows);
    self.model_bytes().saturating_add(context_bytes).saturating_add(drafter_bytes)
  }

  pub(super) fn budget(&self) -> u64 {
    self.memory_available.saturating_sub(self.headroom)
  }

  pub(super) fn fits(&self, context: u32, cache: CacheKind) -> bool {
    self.needed(context, cache) <= self.budget()
  }

  /// The largest multiple of 256 up to the training context that fits; a shorter training context counts whole.
  pub(super) fn largest(&self, cache: CacheKind) -> Option<u32> {
    let steps = self.training_context / CONTEXT_STEP;
    if steps == 0 {
      let whole = self.training_context;
      return (whole > 0 && self.fits(whole, cache)).then_some(whole);
    }
    // Needs grow with the context, so the first size that does not fit is found by halving.
    let (mut fitting, mut failing) = (0, steps + 1);
    while failing - fitting > 1 {
      let middle = u32::midpoint(fitting, failing);
      if self.fits(middle * CONTEXT_STEP, cache) {
        fitting = middle;
      } else {
        failing = middle;
      }
    }
    (fitting > 0).then_some(fitting * CONTEXT_STEP)
  }
}
