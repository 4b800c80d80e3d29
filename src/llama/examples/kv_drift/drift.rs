//! How far one list of distributions is from another.

/// Sums over all positions.
pub(crate) struct Drift {
  pub(crate) positions: usize,
  /// Mean Kullback-Leibler divergence from the first to the second, in nats.
  pub(crate) divergence: f64,
  /// Largest difference of a log probability, among tokens that the first gives at least 1 %.
  pub(crate) largest: f64,
  same: usize,
}

/// Rarer tokens differ by much and mean little.
const LIKELY: f64 = 0.01;

impl Drift {
  /// `exact` and `other`: logits of each position.
  pub(crate) fn between(exact: &[Vec<f32>], other: &[Vec<f32>]) -> Self {
    let (mut divergence, mut largest, mut same) = (0.0, 0.0_f64, 0);
    for (exact, other) in exact.iter().zip(other) {
      let (p, q) = (log_softmax(exact), log_softmax(other));
      for (p, q) in p.iter().zip(&q) {
        divergence += p.exp() * (p - q);
        if p.exp() >= LIKELY {
          largest = largest.max((p - q).abs());
        }
      }
      same += usize::from(most_likely(exact) == most_likely(other));
    }
    let positions = exact.len().min(other.len());
    #[allow(clippy::cast_precision_loss, reason = "a few dozen")]
    let mean = divergence / positions as f64;
    Self { positions, divergence: mean, largest, same }
  }

  /// Share of positions whose likeliest token is the same.
  #[allow(clippy::cast_precision_loss, reason = "a few dozen")]
  pub(crate) fn agreement(&self) -> f64 {
    self.same as f64 / self.positions as f64
  }
}

fn log_softmax(logits: &[f32]) -> Vec<f64> {
  let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
  let total: f64 = logits.iter().map(|logit| f64::from(logit - largest).exp()).sum();
  logits.iter().map(|logit| f64::from(logit - largest) - total.ln()).collect()
}

fn most_likely(logits: &[f32]) -> Option<usize> {
  logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(token, _)| token)
}
