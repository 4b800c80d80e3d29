//! Checks of a whole header against what llama.cpp asserts on, divides by or indexes with while loading.

use super::error::{damaged, unsupported};
use super::header::{GgufHeader, ModelKind};
use super::hyperparameters::{self, Recurrence};
use super::layer_keys::{MOST_LAYERS, WIDEST};
use super::layers::Layers;
use super::metadata::Metadata;
use super::{vocabulary, weights};
use crate::error::Result;

/// `LLAMA_MAX_EXPERTS`.
const MOST_EXPERTS: u64 = 1024;

/// Refuses a header that llama.cpp would answer with an assertion or undefined behaviour. [`GgufHeader::read`] does
/// this itself. The architecture need not be a known one: llama.cpp reports those it lacks.
pub fn validate(header: &GgufHeader) -> Result<()> {
  let (metadata, architecture) = (header.metadata(), header.architecture.as_str());
  let tokens = vocabulary::validate(metadata, architecture)?;
  if header.kind == ModelKind::Vocabulary && metadata.get(&format!("{architecture}.block_count")).is_none() {
    return match tokens {
      Some(_) => Ok(()),
      None => Err(damaged("the file has neither tensors nor a vocabulary")),
    };
  }
  let keys = Keys { metadata, architecture };
  keys.required("context_length", 1..=i32::MAX.unsigned_abs().into())?;
  let embedding = keys.required("embedding_length", 1..=WIDEST)?;
  keys.optional("vocab_size", 0..=i32::MAX.unsigned_abs().into())?;
  keys.optional("embedding_length_out", 1..=WIDEST)?;
  let layers = Layers::read(metadata, architecture)?;
  check_attention(&keys, &layers)?;
  check_rope(&keys, &layers)?;
  check_experts(&keys, layers.all.len())?;
  check_divisors(&keys, embedding)?;
  keys.optional("pooling_type", 0..=4)?;
  keys.optional("classifier.pooling_type", 0..=4)?;
  weights::validate(header.tensors(), architecture, embedding, tokens)
}

/// The kind of file, refused when it is a companion of a model rather than one.
pub(super) fn check_role(metadata: &Metadata) -> Result<&str> {
  let architecture = metadata
    .get_str("general.architecture")
    .ok_or_else(|| damaged("general.architecture is missing; the file names no model architecture"))?;
  let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
  if architecture.is_empty() || architecture.len() > 64 || !architecture.chars().all(letter) {
    return Err(damaged("general.architecture is not a short identifier"));
  }
  let role = metadata.get_str("general.type").unwrap_or("model");
  match (role, architecture) {
    ("mmproj", _) | (_, "clip") => Err(unsupported(
      "the file is a multimodal projector (mmproj); name the language model it belongs to instead",
    )),
    ("adapter", _) | (_, "controlvector") => {
      Err(unsupported("the file is an adapter, not a model; name the model that it was trained for"))
    }
    ("imatrix", _) | (_, "imatrix") => {
      Err(unsupported("the file is an importance matrix for quantising, not a model"))
    }
    _ => Ok(architecture),
  }
}

struct Keys<'a> {
  metadata: &'a Metadata,
  architecture: &'a str,
}

impl Keys<'_> {
  fn optional(&self, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>> {
    self.metadata.integer(&format!("{}.{name}", self.architecture), range)
  }

  fn required(&self, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64> {
    let missing = || damaged(format_args!("{}.{name} is missing", self.architecture));
    self.optional(name, range)?.ok_or_else(missing)
  }
}

fn check_attention(keys: &Keys<'_>, layers: &Layers) -> Result<()> {
  let architecture = keys.architecture;
  let recurrence = hyperparameters::recurrence(architecture);
  if recurrence == Recurrence::Always {
    return Ok(());
  }
  for (index, layer) in layers.all.iter().enumerate() {
    let (heads, kv_heads) = (layer.heads, layer.kv_heads);
    if kv_heads > 0 && (heads == 0 || heads % kv_heads != 0) {
      return Err(damaged(format_args!(
        "layer {index} has {heads} attention heads for {kv_heads} key-value heads; one must divide the other"
      )));
    }
    if layer.owns_cache && heads > 0 && layer.key_length == 0 {
      return Err(damaged(format_args!("layer {index} has attention heads without elements")));
    }
    let differ = layer.key_length != layer.value_length;
    if heads > 0 && differ && hyperparameters::keys_equal_values(architecture) {
      return Err(damaged(format_args!("{architecture}.attention.key_length differs from value_length")));
    }
  }
  if recurrence == Recurrence::Never
    && architecture != "wavtokenizer-dec"
    && layers.all.iter().all(|layer| layer.heads == 0)
  {
    return Err(damaged(format_args!("{architecture}.attention.head_count is missing or zero")));
  }
  Ok(())
}

fn check_rope(keys: &Keys<'_>, layers: &Layers) -> Result<()> {
  let (metadata, architecture) = (keys.metadata, keys.architecture);
  let scaling = metadata.get_str(&format!("{architecture}.rope.scaling.type")).unwrap_or("linear");
  if !matches!(scaling, "none" | "linear" | "yarn" | "longrope") {
    let shown: String = scaling.chars().take(40).collect();
    return Err(unsupported(format!("{architecture}.rope.scaling.type is {shown:?}, which is not known")));
  }
  let Some(first) = layers.all.first().filter(|layer| layer.heads > 0) else { return Ok(()) };
  let widest = layers.all.iter().map(|layer| layer.key_length).max().unwrap_or(0);
  for name in ["rope.dimension_count", "rope.dimension_count_swa"] {
    let Some(rotated) = keys.optional(name, 0..=widest)? else { continue };
    if rotated % 2 != 0 {
      return Err(damaged(format_args!("{architecture}.{name} is odd")));
    }
    let head = first.key_length;
    let whole = name == "rope.dimension_count" && hyperparameters::rotates_whole_head(architecture);
    if whole && rotated != head {
      return Err(damaged(format_args!(
        "{architecture}.{name} is {rotated}, but heads have {head} elements"
      )));
    }
  }
  Ok(())
}

fn check_experts(keys: &Keys<'_>, layers: usize) -> Result<()> {
  let architecture = keys.architecture;
  let experts = keys.optional("expert_count", 0..=MOST_EXPERTS)?.unwrap_or(0);
  let used = keys.metadata.per_layer(&format!("{architecture}.expert_used_count"), layers)?;
  let used = used.and_then(|values| values.into_iter().max()).unwrap_or(0);
  let groups = keys.optional("expert_group_count", 0..=MOST_EXPERTS)?.unwrap_or(0);
  let groups_used = keys.optional("expert_group_used_count", 0..=MOST_EXPERTS)?.unwrap_or(0);
  keys.optional("expert_gating_func", 0..=4)?;
  // Dense Hunyuan files say that they have one expert, which llama.cpp reads as none.
  if experts <= 1 && matches!(architecture, "hunyuan_vl" | "hunyuan-dense") {
    return Ok(());
  }
  let sound = if experts == 0 {
    used == 0 && groups == 0
  } else {
    let grouped = groups <= 1 || (experts % groups == 0 && groups_used > 0 && groups_used < groups);
    used > 0 && used <= experts && groups < experts && grouped
  };
  if sound {
    return Ok(());
  }
  Err(damaged(format_args!(
    "the expert counts contradict each other: {experts} experts, {used} used, {groups} groups, {groups_used} used"
  )))
}

/// Numbers that llama.cpp divides by or asserts to be positive, where a file has them.
fn check_divisors(keys: &Keys<'_>, embedding: u64) -> Result<()> {
  for name in ["ssm.inner_size", "ssm.state_size", "ssm.conv_kernel", "wkv.head_size", "num_loops"] {
    keys.optional(name, 1..=WIDEST)?;
  }
  for name in ["interleave_moe_layer_step", "experts_per_group", "attention.output_group_count"] {
    keys.optional(name, u64::from(keys.architecture != "llama4")..=WIDEST)?;
  }
  for name in ["hrm.layers_per_stack", "hrm.h_cycles", "hrm.l_cycles"] {
    keys.optional(name, 1..=WIDEST)?;
  }
  keys.optional("decoder_block_count", 1..=MOST_LAYERS)?;
  keys.optional("shortconv.l_cache", 2..=WIDEST)?;
  if let Some(head) = keys.optional("wkv.head_size", 1..=embedding)?
    && !embedding.is_multiple_of(head)
  {
    return Err(damaged(format_args!("wkv.head_size {head} does not divide embedding_length {embedding}")));
  }
  let Some(inner) = keys.optional("ssm.inner_size", 1..=WIDEST)? else { return Ok(()) };
  // Mamba's first version has a scalar per channel, not heads; its rank divides nothing.
  let names: &[&str] = match keys.architecture {
    "mamba2" | "falcon-h1" | "granitehybrid" | "nemotron_h" | "nemotron_h_moe" => {
      &["ssm.time_step_rank", "ssm.group_count"]
    }
    _ => &[],
  };
  for name in names {
    if keys.optional(name, 1..=WIDEST)?.is_none_or(|part| inner % part != 0) {
      return Err(damaged(format_args!(
        "{}.{name} does not divide ssm.inner_size {inner}",
        keys.architecture
      )));
    }
  }
  Ok(())
}
