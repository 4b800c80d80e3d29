//! Which layers have a sliding window.

use super::error::{damaged, invalid};
use super::hyperparameters::{self, Pattern};
use super::layer::Layer;
use super::layer_keys::{Keys, MOST_LAYERS};
use crate::error::Result;

impl Keys<'_> {
  /// Marks the layers with a sliding window. Only the first `trunk` layers follow a regular pattern.
  pub(super) fn set_windows(&self, all: &mut [Layer], trunk: usize) -> Result<()> {
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
}
