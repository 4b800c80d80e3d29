//! Which layers keep a recurrent state, and how large it is.

use super::hyperparameters::{self, Recurrence};
use super::layer::Layer;
use super::layer_keys::{Keys, MOST_LAYERS};
use crate::error::Result;

impl Keys<'_> {
  /// Which layers keep a recurrent state.
  pub(super) fn recurrent(&self, all: &[Layer], trunk: usize) -> Result<Vec<bool>> {
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
  pub(super) fn state_elements(&self, embedding: u64, heads: u64, key_length: u64) -> Result<u64> {
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
}
