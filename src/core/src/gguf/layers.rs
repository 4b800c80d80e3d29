//! Sizes per layer, as llama.cpp derives them from the metadata.

use super::hyperparameters::{self, Pattern, Recurrence};
use super::{Metadata, damaged, invalid};
use crate::error::Result;

/// `LLAMA_MAX_LAYERS`.
pub(super) const MOST_LAYERS: u64 = 512;
/// Larger widths than any model has; keeps every product below 2^63.
pub(super) const WIDEST: u64 = 1 << 24;

/// One layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Layer {
  /// Query heads; zero where the layer does not attend.
  pub(crate) heads: u64,
  /// Key-value heads.
  pub(crate) kv_heads: u64,
  /// Width of the feed-forward network; zero in expert-only layers.
  pub(crate) feed_forward: u64,
  /// Elements of one key head.
  pub(crate) key_length: u64,
  /// Elements of one value head; zero when values are part of the keys (multi-head latent attention).
  pub(crate) value_length: u64,
  /// Elements per token of a second cache of keys, used to choose what to attend to.
  pub(crate) indexer_length: u64,
  /// Tokens this layer looks back, when it has a sliding window.
  pub(crate) window: Option<u64>,
  /// Whether the layer stores keys and values of its own.
  pub(crate) owns_cache: bool,
  /// Whether the layer keeps a recurrent state.
  pub(crate) recurrent: bool,
}

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

/// Metadata under the architecture's prefix.
struct Keys<'a> {
  metadata: &'a Metadata,
  architecture: &'a str,
}

impl Keys<'_> {
  fn key(&self, name: &str) -> String {
    format!("{}.{name}", self.architecture)
  }

  fn optional(&self, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>> {
    self.metadata.integer(&self.key(name), range)
  }

  fn required(&self, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64> {
    self.optional(name, range)?.ok_or_else(|| damaged(format_args!("{} is missing", self.key(name))))
  }

  fn length(&self, name: &str, default: u64) -> Result<u64> {
    Ok(self.optional(name, 0..=WIDEST)?.unwrap_or(default))
  }

  fn list(&self, name: &str, layers: usize) -> Result<Option<Vec<u64>>> {
    let values = self.metadata.per_layer(&self.key(name), layers)?;
    match values.as_ref().and_then(|values| values.iter().find(|value| **value > WIDEST)) {
      Some(value) => Err(damaged(format_args!("{} is {value}, more than any model has", self.key(name)))),
      None => Ok(values),
    }
  }

  /// Marks the layers with a sliding window. Only the first `trunk` layers follow a regular pattern.
  fn set_windows(&self, all: &mut [Layer], trunk: usize) -> Result<()> {
    let Some(rule) = hyperparameters::sliding(self.architecture, trunk) else { return Ok(()) };
    let named = self.optional("attention.sliding_window", 0..=i32::MAX.unsigned_abs().into())?;
    let window = match named {
      Some(0) => 0,
      _ if rule.fixed => rule.default,
      // llama.cpp ignores the number that SmallThinker files carry.
      Some(_) if self.architecture == "smallthinker" => 4096,
      Some(window) => window,
      None => rule.default,
    };
    let required = hyperparameters::must_slide(self.architecture);
    if window == 0 {
      let key = self.key("attention.sliding_window");
      return if required { Err(damaged(format_args!("{key} is missing or zero"))) } else { Ok(()) };
    }
    let slides = self.pattern(rule.pattern, all.len(), trunk)?;
    if !slides.contains(&true) && rule.pattern != Pattern::All {
      let key = self.key("attention.sliding_window_pattern");
      return Err(invalid(format!("{key} gives no layer a window, although the model has one")));
    }
    for (layer, slides) in all.iter_mut().zip(slides) {
      layer.window = slides.then_some(window);
    }
    Ok(())
  }

  fn pattern(&self, pattern: Pattern, layers: usize, trunk: usize) -> Result<Vec<bool>> {
    let key = self.key("attention.sliding_window_pattern");
    if let Some(array) = self.metadata.get_array(&key) {
      let values = array.unsigned().ok_or_else(|| invalid(format!("{key} is not a list of flags")))?;
      if values.len() > usize::try_from(MOST_LAYERS).unwrap_or(0) {
        return Err(damaged(format_args!("{key} has {} entries", values.len())));
      }
      return Ok((0..layers).map(|layer| values.get(layer).is_some_and(|flag| *flag != 0)).collect());
    }
    let named = self.metadata.integer(&key, 0..=MOST_LAYERS)?;
    let (period, first) = match pattern {
      Pattern::LastDense(period) => (named.unwrap_or(period), false),
      Pattern::FirstDense(period) => (named.unwrap_or(period), true),
      Pattern::All => (0, false),
      Pattern::Listed => return Err(damaged(format_args!("{key} is missing"))),
    };
    let slides = |layer: u64| match period {
      0 => true,
      _ if first => !layer.is_multiple_of(period),
      _ => layer % period < period - 1,
    };
    Ok((0..layers).map(|layer| layer < trunk && slides(layer as u64)).collect())
  }

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

  fn recurrent(&self, all: &[Layer], trunk: usize) -> Result<Vec<bool>> {
    let by = |test: &dyn Fn(&Layer) -> bool| all.iter().map(test).collect();
    Ok(match hyperparameters::recurrence(self.architecture) {
      Recurrence::Never => by(&|_| false),
      Recurrence::Always | Recurrence::Beside => by(&|_| true),
      Recurrence::WithoutHeads => by(&|layer| layer.kv_heads == 0),
      Recurrence::WithoutHeadsAndFeedForward => by(&|layer| layer.kv_heads == 0 && layer.feed_forward == 0),
      Recurrence::Interval(default) => {
        if let Some(flags) = self.list("attention.recurrent_layers", all.len())? {
          return Ok(flags.iter().map(|flag| *flag != 0).collect());
        }
        let interval = self.optional("full_attention_interval", 1..=MOST_LAYERS)?.unwrap_or(default);
        (0..all.len()).map(|layer| layer < trunk && !(layer as u64 + 1).is_multiple_of(interval)).collect()
      }
    })
  }

  /// Floats of state per sequence and recurrent layer: convolution rows plus the state proper (`n_embd_r`, `n_embd_s`).
  fn state_elements(&self, embedding: u64, heads: u64, key_length: u64) -> Result<u64> {
    if hyperparameters::recurrence(self.architecture) == Recurrence::Never {
      return Ok(0);
    }
    let wkv = self.length("wkv.head_size", 0)?;
    let short = self.length("shortconv.l_cache", 0)?;
    let delta = self.length("kda.head_dim", 0)?;
    let kernel = self.length("ssm.conv_kernel", 0)?;
    let (inner, state) = (self.length("ssm.inner_size", 0)?, self.length("ssm.state_size", 0)?);
    let groups = self.length("ssm.group_count", 0)?;
    let product = |a: u64, b: u64| a.saturating_mul(b);
    let rows = if wkv != 0 {
      product(self.optional("token_shift_count", 0..=64)?.unwrap_or(2), embedding)
    } else if short != 0 {
      product(embedding, short - 1)
    } else if delta != 0 {
      product(3 * if kernel > 0 { kernel - 1 } else { 3 }, product(heads, delta))
    } else {
      product(kernel.saturating_sub(1), inner.saturating_add(product(2 * groups, state)))
    };
    let matrix = if wkv != 0 {
      product(embedding, wkv)
    } else if delta != 0 {
      product(product(delta, delta), heads)
    } else if self.architecture == "minimax-01" {
      product(product(key_length, key_length), heads)
    } else {
      product(state, inner)
    };
    Ok(rows.saturating_add(matrix))
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
