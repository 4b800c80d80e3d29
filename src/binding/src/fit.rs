//! What fits in memory, as JavaScript objects. The arithmetic is `core::fit`'s; a model may be a file's header or a
//! catalogue entry's shape.

use std::path::PathBuf;

use local_inference_core::error::{EngineError, Result};
use local_inference_core::fit::{self, Assessment, ComputeShape, FitInput, KvGeometry, LayerCache, Windows};
use local_inference_core::gguf::{GgufHeader, ModelKind};
use local_inference_core::options::FlashAttention;
use napi_derive::napi;

use crate::error::to_js;
use crate::numbers::{bytes, count, number, whole};
use crate::promise::blocking;

/// Layers of the same shape. Lengths are elements per token.
#[napi(object)]
pub struct LayerGroup {
  pub count: f64,
  pub key_elements: f64,
  pub value_elements: f64,
  pub key_head: f64,
  pub value_head: f64,
  pub window: Option<f64>,
}

/// Everything the memory of a model depends on.
#[napi(object)]
pub struct ModelShape {
  pub weight_bytes: f64,
  pub context_length: f64,
  pub layers: Vec<LayerGroup>,
  pub state_bytes: f64,
  pub vocabulary_size: f64,
  pub merges: f64,
  pub embedding_length: f64,
  pub layer_inputs: f64,
  pub feed_forward_length: f64,
  pub heads: f64,
  pub query_length: f64,
}

#[napi(object, object_to_js = false)]
pub struct FitOptions {
  pub memory_available: f64,
  pub memory_headroom_bytes: Option<f64>,
  pub memory_total: Option<f64>,
  pub context_size: Option<f64>,
  pub kv_type_k: Option<String>,
  pub kv_type_v: Option<String>,
  pub micro_batch_size: Option<f64>,
  pub parallel: Option<f64>,
  #[napi(ts_type = "\"auto\" | \"on\" | \"off\"")]
  pub flash_attention: Option<String>,
  pub weights_loaded: Option<bool>,
}

#[napi(object, object_from_js = false)]
pub struct FitAssessment {
  pub fits: bool,
  pub context_size: u32,
  pub kv_type_k: &'static str,
  pub kv_type_v: &'static str,
  #[napi(ts_type = "\"full\" | \"trimmed\"")]
  pub windows: &'static str,
  pub weight_bytes: f64,
  pub tokenizer_bytes: f64,
  pub kv_bytes: f64,
  pub compute_bytes: f64,
  pub needed_bytes: f64,
  pub budget_bytes: f64,
  pub missing_bytes: f64,
  pub largest_context: u32,
  pub reason: String,
}

/// The shape of the GGUF at `path`, from its header.
#[napi]
pub async fn read_shape(path: String) -> napi::Result<ModelShape> {
  blocking(move || shape_of(&GgufHeader::read(&PathBuf::from(path))?)).await
}

/// What a model of this shape takes on a machine, and whether it fits.
#[napi]
pub fn assess_fit(shape: ModelShape, options: FitOptions) -> napi::Result<FitAssessment> {
  let outcome = input(shape, options).and_then(|input| fit::assess(&input));
  outcome.map(FitAssessment::from).map_err(to_js)
}

/// Memory that is left free on a machine of this size unless a setting says otherwise.
#[napi]
pub fn default_headroom(memory_total: f64) -> napi::Result<f64> {
  let total = bytes("memoryTotal", Some(memory_total)).map_err(to_js)?.unwrap_or(0);
  Ok(number(fit::default_headroom(total)))
}

fn shape_of(header: &GgufHeader) -> Result<ModelShape> {
  let geometry = KvGeometry::from_header(header)?;
  let compute = ComputeShape::from_header(header)?;
  let bare = header.kind == ModelKind::Vocabulary;
  Ok(ModelShape {
    weight_bytes: number(header.weight_bytes),
    context_length: if bare { 0.0 } else { f64::from(header.context_length) },
    layers: grouped(&geometry.layers),
    state_bytes: number(geometry.state_bytes),
    vocabulary_size: number(compute.vocabulary),
    merges: number(compute.merges),
    embedding_length: number(compute.embedding),
    layer_inputs: number(compute.layer_inputs),
    feed_forward_length: number(compute.feed_forward),
    heads: number(compute.heads),
    query_length: number(compute.query),
  })
}

/// Order does not matter to sums: equal layers are counted, first come first.
fn grouped(layers: &[LayerCache]) -> Vec<LayerGroup> {
  let mut kinds: Vec<(LayerCache, usize)> = Vec::new();
  for layer in layers {
    match kinds.iter_mut().find(|kind| kind.0 == *layer) {
      Some(kind) => kind.1 += 1,
      None => kinds.push((*layer, 1)),
    }
  }
  let group = |(layer, layers): (LayerCache, usize)| LayerGroup {
    count: count(layers),
    key_elements: number(layer.key_elements),
    value_elements: number(layer.value_elements),
    key_head: number(layer.key_head),
    value_head: number(layer.value_head),
    window: layer.window.map(f64::from),
  };
  kinds.into_iter().map(group).collect()
}

fn input(shape: ModelShape, options: FitOptions) -> Result<FitInput> {
  let size = |name: &str, value: f64| bytes(name, Some(value)).map(Option::unwrap_or_default);
  let small = |name: &str, value: Option<f64>, default: u32| {
    whole(name, value).map(|value| value.filter(|value| *value > 0).unwrap_or(default))
  };
  let memory_available = size("memoryAvailable", options.memory_available)?;
  let headroom = match bytes("memoryHeadroomBytes", options.memory_headroom_bytes)? {
    Some(headroom) => headroom,
    None => fit::default_headroom(bytes("memoryTotal", options.memory_total)?.unwrap_or(memory_available)),
  };
  let flash = options.flash_attention.map_or(Ok(FlashAttention::default()), |text| text.parse())?;
  let parallel = small("parallel", options.parallel, 1)?;
  Ok(FitInput {
    weight_bytes: size("weightBytes", shape.weight_bytes)?,
    weights_loaded: options.weights_loaded.unwrap_or(false),
    training_context: whole("contextLength", Some(shape.context_length))?.unwrap_or(0),
    compute: ComputeShape {
      vocabulary: size("vocabularySize", shape.vocabulary_size)?,
      merges: size("merges", shape.merges)?,
      layer_inputs: size("layerInputs", shape.layer_inputs)?,
      embedding: size("embeddingLength", shape.embedding_length)?,
      feed_forward: size("feedForwardLength", shape.feed_forward_length)?,
      heads: size("heads", shape.heads)?,
      query: size("queryLength", shape.query_length)?,
    },
    geometry: KvGeometry {
      state_bytes: size("stateBytes", shape.state_bytes)?,
      layers: layers(&shape.layers)?,
    },
    flash_attention: flash != FlashAttention::Off,
    memory_available,
    headroom,
    requested_context: whole("contextSize", options.context_size)?,
    kv_k: options.kv_type_k.map(|text| text.parse()).transpose()?,
    kv_v: options.kv_type_v.map(|text| text.parse()).transpose()?,
    sequences: parallel,
    micro_batch: small("microBatchSize", options.micro_batch_size, 512)?,
    outputs: parallel,
    drafter: None,
  })
}

/// More layers than any model has would only waste memory here.
const MOST_LAYERS: u32 = 4096;

fn layers(groups: &[LayerGroup]) -> Result<Vec<LayerCache>> {
  let mut layers = Vec::new();
  for group in groups {
    let size = |name: &str, value: f64| bytes(name, Some(value)).map(Option::unwrap_or_default);
    let cache = LayerCache {
      key_elements: size("keyElements", group.key_elements)?,
      value_elements: size("valueElements", group.value_elements)?,
      key_head: size("keyHead", group.key_head)?,
      value_head: size("valueHead", group.value_head)?,
      window: whole("window", group.window)?,
    };
    let count = whole("count", Some(group.count))?.unwrap_or(0);
    if count > MOST_LAYERS || layers.len() > MOST_LAYERS as usize {
      return Err(EngineError::new(
        local_inference_core::error::ErrorCode::InvalidInput,
        format!("layers must be at most {MOST_LAYERS}"),
      ));
    }
    layers.extend(std::iter::repeat_n(cache, count as usize));
  }
  Ok(layers)
}

impl From<Assessment> for FitAssessment {
  fn from(assessment: Assessment) -> Self {
    let plan = assessment.plan;
    Self {
      fits: assessment.fits,
      context_size: plan.context,
      kv_type_k: plan.kv_k.as_str(),
      kv_type_v: plan.kv_v.as_str(),
      windows: match plan.windows {
        Windows::Full => "full",
        Windows::Trimmed => "trimmed",
      },
      weight_bytes: number(plan.weight_bytes),
      tokenizer_bytes: number(plan.tokenizer_bytes),
      kv_bytes: number(plan.kv_bytes),
      compute_bytes: number(plan.compute_bytes),
      needed_bytes: number(assessment.needed),
      budget_bytes: number(assessment.budget),
      missing_bytes: number(assessment.missing),
      largest_context: assessment.largest_context,
      reason: plan.reason,
    }
  }
}
