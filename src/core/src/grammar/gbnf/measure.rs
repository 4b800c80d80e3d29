//! How much a grammar repeats, and how deep its rules stand in one another.

use super::super::error::invalid;
use super::syntax::{Item, Sequence};
use crate::error::Result;

/// Most repetitions of repetitions, multiplied.
const MAX_PRODUCT: u64 = 100_000;
/// Most rules and groups that stand in one another. What reads a grammar goes down into it, here and in the engine, so
/// that this bounds the stack.
const MAX_HEIGHT: usize = 5_000;

#[derive(Clone, Copy)]
struct Measure {
  /// How often the innermost repetition may come round within all those around it, across rules.
  product: u64,
  /// Rules and groups below one another.
  height: usize,
}

/// What a rule counts inside of itself: it has no product, and what is in it counts once.
const ONCE: Measure = Measure { product: 1, height: 1 };

/// # Errors
/// `GRAMMAR_INVALID` for too many repetitions of repetitions and for rules too deep in one another.
pub(super) fn check(rules: &[Vec<Sequence>]) -> Result<()> {
  let mut measures = Measures { rules, known: vec![None; rules.len()] };
  for index in 0..rules.len() {
    measures.rule(index, 0)?;
  }
  Ok(())
}

struct Measures<'a> {
  rules: &'a [Vec<Sequence>],
  known: Vec<Option<Measure>>,
}

impl Measures<'_> {
  fn rule(&mut self, index: usize, depth: usize) -> Result<Measure> {
    if let Some(measure) = self.known[index] {
      return Ok(measure);
    }
    self.known[index] = Some(ONCE);
    let rules = self.rules;
    let measure = self.alternatives(&rules[index], depth + 1)?;
    self.known[index] = Some(measure);
    Ok(measure)
  }

  fn alternatives(&mut self, alternatives: &[Sequence], depth: usize) -> Result<Measure> {
    let mut most = ONCE;
    for element in alternatives.iter().flatten() {
      let inner = if depth > MAX_HEIGHT {
        Measure { height: depth, ..ONCE }
      } else {
        match &element.item {
          Item::Group(inner) => self.alternatives(inner, depth + 1)?,
          Item::Rule(rule) => self.rule(*rule, depth)?,
          _ => Measure { product: 1, height: 0 },
        }
      };
      let times = u64::from(element.most.unwrap_or(0).max(element.least).max(1));
      most.product = most.product.max(inner.product.saturating_mul(times));
      most.height = most.height.max(inner.height + 1);
    }
    if most.product > MAX_PRODUCT {
      return Err(invalid(format!("repetitions within repetitions come to more than {MAX_PRODUCT}")));
    }
    if most.height > MAX_HEIGHT {
      return Err(invalid(format!("more than {MAX_HEIGHT} rules and groups stand in one another")));
    }
    Ok(most)
  }
}
