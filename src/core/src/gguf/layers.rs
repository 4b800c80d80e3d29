//! Sizes per layer, as llama.cpp derives them from the metadata.

use super::error::damaged;
use super::hyperparameters::{self, Recurrence};
use super::layer::Layer;
use super::layer_keys::{Keys, MOST_LAYERS, WIDEST};
use super::metadata::Metadata;
use crate::error::Result;

/// All layers of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Layers {
  /// The layers, including those of a draft head (`nextn`), which own no cache in an ordinary context.
  pub(crate) all: Vec<Layer>,
  /// 32-bit floats of recurrent state per sequence and recurrent layer.
  pub(crate) state_elements: u64,
}

impl Layers {
  /// Reads the sizes; `MODEL_INVALID` names a value that is missing or impossible.
  pub(crate) fn read(metadata: &Metadata, architecture: &str) -> Result<Self> {
    let keys = Keys { metadata, architecture };
    let count = keys.required("block_count", 1..=MOST_LAYERS)?;
    let embedding = keys.required("embedding_length", 1..=WIDEST)?;
    let draft = keys.optional("nextn_predict_layers", 0..=count)?.unwrap_or(0);
    let layers = usize::try_from(count).unwrap_or(0);
    let zeros = || vec![0; layers];
    let heads = keys.list("attention.head_count", layers)?.unwrap_or_else(zeros);
    let kv_heads = keys.list("attention.head_count_kv", layers)?.unwrap_or_else(|| heads.clone());
    let feed_forward = keys.list("feed_forward_length", layers)?.unwrap_or_else(zeros);
    let head = heads.first().filter(|heads| **heads > 0).map_or(0, |heads| embedding / heads);
    let key_length = keys.length("attention.key_length", head)?;
    let value_length = keys.length("attention.value_length", head)?;
    let key_length_swa = keys.length("attention.key_length_swa", key_length)?;
    let value_length_swa = keys.length("attention.value_length_swa", value_length)?;
    let latent =
      keys.length("attention.key_length_mla", 0)? > 0 && keys.length("attention.value_length_mla", 0)? > 0;
    let indexer_length = keys.length("attention.indexer.key_length", 0)?;

    let mut all = Vec::with_capacity(layers);
    for index in 0..layers {
      all.push(Layer {
        heads: heads[index],
        kv_heads: kv_heads[index],
        feed_forward: feed_forward[index],
        key_length,
        value_length: if latent { 0 } else { value_length },
        indexer_length,
        window: None,
        owns_cache: true,
        recurrent: false,
      });
    }
    keys.set_windows(&mut all, layers - usize::try_from(draft).unwrap_or(0))?;
    for layer in all.iter_mut().filter(|layer| layer.window.is_some()) {
      layer.key_length = key_length_swa;
      layer.value_length = if latent { 0 } else { value_length_swa };
    }
    keys.set_ownership(&mut all, draft)?;
    let first = heads.first().copied().unwrap_or(0);
    let state_elements = keys.state_elements(embedding, first, key_length)?;
    Ok(Self { all: keys.repeated(all)?, state_elements })
  }
}

impl Keys<'_> {
  /// Decides which layers store keys and values and which a recurrent state.
  fn set_ownership(&self, all: &mut [Layer], draft: u64) -> Result<()> {
    let trunk = all.len() - usize::try_from(draft).unwrap_or(0);
    // A model that is all draft head has no trunk to restrict the cache to.
    let cached = if trunk == 0 { all.len() } else { trunk };
    let own = match self.architecture {
      "gemma3n" => cached.min(20),
      "gemma4" => {
        let shared = self.optional("attention.shared_kv_layers", 0..=all.len() as u64)?.unwrap_or(0);
        all.len() - usize::try_from(shared).unwrap_or(0)
      }
      // The drafter reads the cache of its target.
      "gemma4-assistant" => 0,
      name if hyperparameters::has_no_cache(name) => 0,
      _ => cached,
    };
    if self.architecture == "gemma4" {
      check_shared(all, own)?;
    }
    let recurrent = self.recurrent(all, trunk)?;
    let rule = hyperparameters::recurrence(self.architecture);
    for (index, layer) in all.iter_mut().enumerate() {
      layer.recurrent = recurrent[index] && index < trunk;
      let attends = match rule {
        Recurrence::Always => false,
        Recurrence::Beside => true,
        Recurrence::WithoutHeadsAndFeedForward => !layer.recurrent && layer.feed_forward == 0,
        _ => !layer.recurrent,
      };
      layer.owns_cache = index < own && index < cached && attends;
    }
    Ok(())
  }

  /// Nanbeige runs its layers several times, each time with a cache of its own.
  fn repeated(&self, all: Vec<Layer>) -> Result<Vec<Layer>> {
    if self.architecture != "nanbeige" {
      return Ok(all);
    }
    let most = MOST_LAYERS / (all.len() as u64).max(1);
    let loops = self.optional("num_loops", 1..=most)?.unwrap_or(1);
    Ok(all.repeat(usize::try_from(loops).unwrap_or(1)))
  }
}

/// Layers without a cache read that of the last two which have one, a sliding one before one that sees everything.
fn check_shared(all: &[Layer], own: usize) -> Result<()> {
  let shared = &all[own..];
  if shared.is_empty() {
    return Ok(());
  }
  let sound = own >= 2
    && (shared.iter().all(|layer| layer.window.is_none()) || all[own - 2].window.is_some())
    && (shared.iter().all(|layer| layer.window.is_some()) || all[own - 1].window.is_none());
  if sound {
    Ok(())
  } else {
    Err(damaged("gemma4.attention.shared_kv_layers does not fit the layer pattern"))
  }
}
