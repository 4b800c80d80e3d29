//! Scalar codebooks: Lloyd-Max quantisers of the normal distribution (Lloyd 1982, Max 1960), computed at first use.

use std::sync::LazyLock;

/// As many levels as the largest scalar format has; smaller codebooks leave the rest 0.
pub(crate) type Levels = [f32; 16];

/// Levels in rising order, and the values at which the nearest level changes.
pub(crate) struct Codebook {
  pub(crate) levels: Levels,
  thresholds: Vec<f64>,
}

impl Codebook {
  fn new(levels: &[f64]) -> Self {
    let mut stored = [0.0; 16];
    for (to, from) in stored.iter_mut().zip(levels) {
      #[allow(clippy::cast_possible_truncation)] // the format stores f32
      let level = *from as f32;
      *to = level;
    }
    let thresholds = levels.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect();
    Self { levels: stored, thresholds }
  }

  /// The code of the nearest level; a value halfway takes the upper one.
  #[allow(clippy::cast_possible_truncation)] // at most 15
  pub(crate) fn nearest(&self, value: f64) -> u8 {
    self.thresholds.iter().filter(|threshold| value >= **threshold).count() as u8
  }
}

fn density(x: f64) -> f64 {
  libm::exp(-x * x / 2.0) / libm::sqrt(std::f64::consts::TAU)
}

fn below(x: f64) -> f64 {
  libm::erfc(-x / std::f64::consts::SQRT_2) / 2.0
}

/// One step: every level becomes the mean of the normal distribution between the neighbouring thresholds.
fn step(levels: &[f64]) -> Vec<f64> {
  let mut bounds = vec![f64::NEG_INFINITY];
  bounds.extend(levels.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])));
  bounds.push(f64::INFINITY);
  bounds
    .windows(2)
    .map(|cell| (density(cell[0]) - density(cell[1])) / (below(cell[1]) - below(cell[0])))
    .collect()
}

fn lloyd_max(start: Vec<f64>, steps: usize) -> Vec<f64> {
  (0..steps).fold(start, |levels, _| step(&levels))
}

/// Where the normal distribution has the share `p` below it; by bisection.
fn quantile(p: f64) -> f64 {
  let (mut low, mut high) = (-10.0, 10.0);
  for _ in 0..80 {
    let middle = f64::midpoint(low, high);
    if below(middle) < p { low = middle } else { high = middle }
  }
  low
}

/// The middle of `n` equal shares of the distribution.
#[allow(clippy::cast_precision_loss)] // n is 8 or 16
fn quantiles(n: usize) -> Vec<f64> {
  (0..n).map(|i| quantile((i as f64 + 0.5) / n as f64)).collect()
}

/// 3 bits, the optimum: from quantiles until nothing moves any more.
pub(crate) static THREE_BITS: LazyLock<Codebook> =
  LazyLock::new(|| Codebook::new(&lloyd_max(quantiles(8), 2000)));

/// 4 bits of `TurboQuant`: 200 steps from quantiles, which is 5e-4 from the optimum. The format stops there.
pub(crate) static FOUR_BITS: LazyLock<Codebook> =
  LazyLock::new(|| Codebook::new(&lloyd_max(quantiles(16), 200)));

/// 4 bits of `PolarQuant`: 100 steps from the middles of 16 equal parts of [-4, 4], up to 0.025 from the optimum.
pub(crate) static POLAR: LazyLock<Codebook> = LazyLock::new(|| {
  let start = (0..16).map(|i| -4.0 + 0.5 * (f64::from(i) + 0.5)).collect();
  Codebook::new(&lloyd_max(start, 100))
});

#[cfg(test)]
mod tests {
  use super::*;

  fn assert_positive_levels(codebook: &Codebook, published: &[f32], tolerance: f32) {
    let count = published.len();
    for (i, expected) in published.iter().enumerate() {
      let (upper, lower) = (codebook.levels[count + i], codebook.levels[count - 1 - i]);
      assert!((upper - expected).abs() <= tolerance, "level {i}: {upper} is not {expected}");
      assert!((lower + expected).abs() <= tolerance, "level {i}: {lower} is not -{expected}");
    }
  }

  #[test]
  fn the_three_bit_levels_are_the_published_ones() {
    assert_positive_levels(&THREE_BITS, &[0.245_094_2, 0.756_005_3, 1.343_909_3, 2.151_945_7], 1e-7);
  }

  #[test]
  fn the_four_bit_levels_of_turboquant_are_the_published_ones() {
    let published = [
      0.128_324_3,
      0.387_841_2,
      0.656_430_7,
      0.941_914_7,
      1.255_739_1,
      1.617_524_3,
      2.068_505_5,
      2.732_136_5,
    ];
    assert_positive_levels(&FOUR_BITS, &published, 2e-7);
  }

  #[test]
  fn the_innermost_and_outermost_levels_of_polarquant_are_the_published_ones() {
    assert!((POLAR.levels[8] - 0.131_757_8).abs() < 1e-7);
    assert!((POLAR.levels[15] - 2.754_354_8).abs() < 2e-7);
  }

  #[test]
  fn the_four_bit_levels_are_as_far_from_the_optimum_as_their_docs_say() {
    let optimum = lloyd_max(quantiles(16), 20_000);
    let distance = |codebook: &Codebook| {
      let pairs = codebook.levels.iter().zip(&optimum);
      pairs.map(|(level, best)| (f64::from(*level) - best).abs()).fold(0.0, f64::max)
    };
    assert!((4e-4..5.5e-4).contains(&distance(&FOUR_BITS)));
    assert!((0.02..0.026).contains(&distance(&POLAR)));
  }

  #[test]
  fn the_nearest_level_is_the_nearest() {
    for codebook in [&*THREE_BITS, &*FOUR_BITS, &*POLAR] {
      let levels = &codebook.levels[..=codebook.thresholds.len()];
      for i in -400..400 {
        let value = f64::from(i) / 100.0;
        let distance = |level: &f32| (f64::from(*level) - value).abs();
        let chosen = distance(&levels[usize::from(codebook.nearest(value))]);
        assert!(levels.iter().all(|level| distance(level) >= chosen - 1e-7));
      }
    }
  }
}
