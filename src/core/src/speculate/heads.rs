//! Multi-token-prediction heads in the model's own file: whether they can draft, from its header.

use super::limits::MAX_WINDOW;
use super::pairing::{Problem, Unusable};
use crate::fit::{KvGeometry, LayerCache};
use crate::gguf::GgufHeader;

/// What llama.cpp's graph of the heads asserts on or reads without asking, by architecture.
struct Rule {
  architecture: &'static str,
  /// Heads that can be chained.
  most: u64,
  /// Tensors of a head beside those of all architectures.
  tensors: &'static [&'static str],
}

/// The architectures whose heads are understood: llama.cpp would compute the graph of the whole model for others.
const RULES: [Rule; 5] = [
  Rule { architecture: "cohere2moe", most: 1, tensors: &["ffn_gate_inp"] },
  Rule { architecture: "glm4moe", most: 1, tensors: &["ffn_gate_inp", "ffn_up_shexp"] },
  Rule { architecture: "hy_v3", most: u64::MAX, tensors: &["ffn_norm"] },
  Rule { architecture: "mimo2", most: u64::MAX, tensors: &["attn_qkv", "ffn_gate", "ffn_up", "ffn_down"] },
  Rule { architecture: "step35", most: u64::MAX, tensors: &[] },
];

/// Tensors of every head.
const COMMON: [&str; 5] = ["attn_norm", "attn_output", "nextn.eh_proj", "nextn.enorm", "nextn.hnorm"];

/// The heads of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heads {
  /// How many there are.
  pub count: usize,
  /// Shape of their KV cache, which is not that of the model.
  pub geometry: KvGeometry,
}

impl Heads {
  /// Tokens of the longest draft: one head drafts on from what it drafted, several take turns.
  pub fn longest_draft(&self) -> usize {
    if self.count > 1 { self.count } else { MAX_WINDOW }
  }
}

/// The heads that the model brings along.
///
/// # Errors
/// Why it cannot draft with them.
pub fn own_heads(header: &GgufHeader) -> Result<Heads, Unusable> {
  let architecture = header.architecture.as_str();
  let announced = header.metadata().get_u64(&format!("{architecture}.nextn_predict_layers")).unwrap_or(0);
  if announced == 0 {
    return Err(Unusable::new(Problem::Heads, "the model has no multi-token-prediction heads"));
  }
  let unsupported = |message: String| Unusable::new(Problem::Unsupported, message);
  let layers = header.layers().map_err(|error| unsupported(error.to_string()))?.all;
  if layers.iter().any(|layer| layer.recurrent) {
    return Err(unsupported(
      "the model keeps a recurrent state, which cannot be taken back after a wrong draft".to_owned(),
    ));
  }
  let Some(rule) = RULES.iter().find(|rule| rule.architecture == architecture) else {
    return Err(unsupported(format!(
      "the multi-token-prediction heads of the architecture {architecture} are not supported"
    )));
  };
  if announced > rule.most {
    return Err(unsupported(format!(
      "{announced} multi-token-prediction heads of the architecture {architecture} cannot be chained"
    )));
  }
  let count = usize::try_from(announced).unwrap_or(usize::MAX);
  let Some(first) = layers.len().checked_sub(count).filter(|&trunk| trunk > 0) else {
    return Err(unsupported("the file has heads only, and no model to draft for".to_owned()));
  };
  if let Some(missing) = missing(header, rule, first..layers.len()) {
    return Err(Unusable::new(
      Problem::Heads,
      format!("the file announces multi-token-prediction heads, but {missing} is missing"),
    ));
  }
  let caches = layers[first..].iter().map(|layer| LayerCache {
    key_elements: layer.kv_heads * layer.key_length,
    value_elements: layer.kv_heads * layer.value_length,
    key_head: layer.key_length,
    value_head: layer.value_length,
    window: layer.window.and_then(|window| u32::try_from(window).ok()),
  });
  Ok(Heads { count, geometry: KvGeometry { layers: caches.collect(), state_bytes: 0 } })
}

fn missing(header: &GgufHeader, rule: &Rule, layers: std::ops::Range<usize>) -> Option<String> {
  let parts = || COMMON.iter().chain(rule.tensors);
  let names = layers.flat_map(|layer| parts().map(move |part| format!("blk.{layer}.{part}.weight")));
  names.into_iter().find(|name| !header.tensors().iter().any(|tensor| tensor.name == *name))
}
