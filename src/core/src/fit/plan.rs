//! Chooses the context size and the type of the KV cache.

use super::compute::ComputeShape;
use super::geometry::KvGeometry;
use super::kv_type::KvType;
use super::{CONTEXT_STEP, readable};
use crate::error::{EngineError, ErrorCode, Result};
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
    })
  }

  fn kv_bytes(&self, context: u32, types: Types) -> u64 {
    self.geometry.bytes(context, self.sequences, types.k, types.v, self.micro_batch)
  }

  fn compute_bytes(&self, context: u32) -> u64 {
    self.compute.bytes(context, self.micro_batch, self.flash_attention)
  }

  /// Memory still to be taken for a context of this size.
  fn needed(&self, context: u32, types: Types) -> u64 {
    let weights = if self.weights_loaded { 0 } else { self.weight_bytes };
    weights.saturating_add(self.kv_bytes(context, types)).saturating_add(self.compute_bytes(context))
  }

  fn budget(&self) -> u64 {
    self.memory_available.saturating_sub(self.headroom)
  }

  fn fits(&self, context: u32, types: Types) -> bool {
    self.needed(context, types) <= self.budget()
  }

  /// The largest multiple of 256 up to the training context that fits; a shorter training context counts whole.
  fn largest(&self, types: Types) -> Option<u32> {
    let steps = self.training_context / CONTEXT_STEP;
    if steps == 0 {
      let whole = self.training_context;
      return (whole > 0 && self.fits(whole, types)).then_some(whole);
    }
    // Needs grow with the context, so the first size that does not fit is found by halving.
    let (mut fitting, mut failing) = (0, steps + 1);
    while failing - fitting > 1 {
      let middle = u32::midpoint(fitting, failing);
      if self.fits(middle * CONTEXT_STEP, types) {
        fitting = middle;
      } else {
        failing = middle;
      }
    }
    (fitting > 0).then_some(fitting * CONTEXT_STEP)
  }
}

/// A choice and what it costs. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitPlan {
  /// Tokens of context.
  pub context: u32,
  /// Type of the keys.
  pub kv_k: KvType,
  /// Type of the values.
  pub kv_v: KvType,
  /// Size of the KV cache and of recurrent state.
  pub kv_bytes: u64,
  /// Size of the weights, loaded or not.
  pub weight_bytes: u64,
  /// Estimated size of the compute buffers.
  pub compute_bytes: u64,
  /// Why this size, in one line.
  pub reason: String,
}

/// Types of keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Types {
  k: KvType,
  v: KvType,
}

const F16: Types = Types { k: KvType::F16, v: KvType::F16 };

impl std::fmt::Display for Types {
  fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    if self.k == self.v { write!(f, "{}", self.k) } else { write!(f, "{}/{}", self.k, self.v) }
  }
}

/// Chooses a context.
///
/// Without a wish for a type the cache is `f16` when the whole training context (or the requested one) fits with it,
/// otherwise `q8_0`, which nearly doubles the context, when the model's heads and flash attention allow. A type given
/// for keys or values only leaves the other at `f16`.
///
/// `UNSUPPORTED`: a bare vocabulary. `INVALID_INPUT`: a context above the training context, or types that the model cannot have. `OUT_OF_MEMORY`: what
/// is missing, and the largest context that would fit.
pub fn plan(input: &FitInput) -> Result<FitPlan> {
  if input.training_context == 0 {
    return Err(EngineError::new(
      ErrorCode::Unsupported,
      "the file is a vocabulary without a model: it has no context",
    ));
  }
  let wanted = input.requested_context.filter(|context| *context > 0);
  if let Some(context) = wanted.filter(|context| *context > input.training_context) {
    return Err(EngineError::new(
      ErrorCode::InvalidInput,
      format!("a context of {context} tokens was requested, but the model allows {}", input.training_context),
    ));
  }
  let choices = type_choices(input)?;
  check_weights(input)?;
  let whole = wanted.unwrap_or(input.training_context);
  if let Some(types) = choices.iter().copied().find(|types| input.fits(whole, *types)) {
    // Without a wish a coarser type is taken for a longer context even if the whole one does not fit.
    let context = if wanted.is_some() { whole } else { input.largest(types).unwrap_or(whole) };
    let why = if wanted.is_some() { "as requested" } else { "the whole training context" };
    return Ok(describe(input, context, types, why));
  }
  let largest = choices.iter().filter_map(|types| Some((input.largest(*types)?, *types)));
  // Of equally long contexts the last is taken: the preferred type.
  let largest = largest.rev().max_by_key(|choice| choice.0);
  match (wanted, largest) {
    (None, Some((context, types))) => {
      let why = format!("of {}, the largest that fits {}", input.training_context, readable(input.budget()));
      Ok(describe(input, context, types, &why))
    }
    (_, largest) => {
      Err(too_large(input, whole, *choices.last().unwrap_or(&F16), largest.map(|choice| choice.0)))
    }
  }
}

/// The types to try, in order of preference.
fn type_choices(input: &FitInput) -> Result<Vec<Types>> {
  let q8 = Types { k: KvType::Q8_0, v: KvType::Q8_0 };
  if input.kv_k.is_none() && input.kv_v.is_none() {
    let coarse = input.flash_attention && input.geometry.supports(q8.k, q8.v);
    return Ok(if coarse { vec![F16, q8] } else { vec![F16] });
  }
  let types = Types { k: input.kv_k.unwrap_or(F16.k), v: input.kv_v.unwrap_or(F16.v) };
  let refuse =
    |why: &str| Err(EngineError::new(ErrorCode::InvalidInput, format!("KV cache type {types}: {why}")));
  if !input.geometry.supports(types.k, types.v) {
    return refuse("the attention heads of this model are not a multiple of the block of 32; use f16");
  }
  if types.v.quantized() && !input.flash_attention {
    return refuse("quantised values need flash attention");
  }
  Ok(vec![types])
}

fn check_weights(input: &FitInput) -> Result<()> {
  let missing = input.weight_bytes.saturating_sub(input.budget());
  if input.weights_loaded || missing == 0 {
    return Ok(());
  }
  Err(EngineError::new(
    ErrorCode::OutOfMemory,
    format!(
      "the weights need {}, but only {} are available ({} free, {} kept as headroom): {} are missing; \
       use a smaller model or quantisation",
      readable(input.weight_bytes),
      readable(input.budget()),
      readable(input.memory_available),
      readable(input.headroom),
      readable(missing)
    ),
  ))
}

fn too_large(input: &FitInput, context: u32, types: Types, largest: Option<u32>) -> EngineError {
  let remedy = match largest {
    Some(largest) => format!("the largest context that fits is {largest} tokens"),
    None => format!("not even {} tokens fit", input.training_context.min(CONTEXT_STEP)),
  };
  let message = format!(
    "a context of {context} tokens needs {} (KV cache {types} {}, compute {}{}), but only {} are available; {remedy}",
    readable(input.needed(context, types)),
    readable(input.kv_bytes(context, types)),
    readable(input.compute_bytes(context)),
    if input.weights_loaded { String::new() } else { format!(", weights {}", readable(input.weight_bytes)) },
    readable(input.budget()),
  );
  EngineError::new(ErrorCode::OutOfMemory, message)
}

fn describe(input: &FitInput, context: u32, types: Types, why: &str) -> FitPlan {
  let kv_bytes = input.kv_bytes(context, types);
  FitPlan {
    context,
    kv_k: types.k,
    kv_v: types.v,
    kv_bytes,
    weight_bytes: input.weight_bytes,
    compute_bytes: input.compute_bytes(context),
    reason: format!("{context} tokens: {why}; KV cache {types}, {}", readable(kv_bytes)),
  }
}
