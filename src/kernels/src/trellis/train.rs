//! How the codebook was made: generalised Lloyd iterations, seeded.

use super::{STATES, Search};
use crate::random::SplitMix64;

const BLOCK: usize = 128;

/// Blocks of normal values with mean square 1, as the format sees them after the rotation.
fn samples(seed: u64, blocks: usize) -> Vec<f64> {
  let mut values = SplitMix64::new(seed).gaussians(blocks * BLOCK);
  for block in values.chunks_exact_mut(BLOCK) {
    let square: f64 = block.iter().map(|value| value * value).sum();
    #[allow(clippy::cast_precision_loss)] // 128
    let factor = (BLOCK as f64 / square).sqrt();
    for value in block {
      *value *= factor;
    }
  }
  values
}

/// Values spread like the normal distribution: the eight that a state can be followed by lie far apart, and which eight
/// those are is shuffled.
#[allow(clippy::cast_possible_truncation)] // f32 is what the format stores
fn start(random: &mut SplitMix64) -> [f32; STATES] {
  let mut spread = random.gaussians(64 * STATES);
  spread.sort_by(f64::total_cmp);
  let mut order: Vec<usize> = (0..64).collect();
  for i in (1..64).rev() {
    #[allow(clippy::cast_possible_truncation)] // below 64
    order.swap(i, (random.next() % (i as u64 + 1)) as usize);
  }
  std::array::from_fn(|state| spread[64 * (state / 64 * 64 + order[state % 64]) + 32] as f32)
}

/// Sums and counts of the values that each state stood for, and the summed squared error.
struct Assignment {
  sums: Vec<f64>,
  counts: Vec<u32>,
  error: f64,
}

fn assign(codebook: &[f32; STATES], values: &[f64]) -> Assignment {
  let mut result = Assignment { sums: vec![0.0; STATES], counts: vec![0; STATES], error: 0.0 };
  let search = Search::new(codebook);
  for block in values.chunks_exact(BLOCK) {
    for (state, value) in search.best_path(block).into_iter().zip(block) {
      let state = usize::from(state);
      result.sums[state] += value;
      result.counts[state] += 1;
      result.error += (value - f64::from(codebook[state])).powi(2);
    }
  }
  result
}

/// Trains a codebook on `blocks` blocks of 128 normal values in `steps` steps.
///
/// Returns the codebook, and the mean squared error before each step.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // f32 is what the format stores
pub fn train_trellis(seed: u64, blocks: usize, steps: usize) -> ([f32; STATES], Vec<f64>) {
  let mut random = SplitMix64::new(seed);
  let mut codebook = start(&mut random);
  let values = samples(random.next(), blocks);
  let mut errors = Vec::with_capacity(steps);
  for _ in 0..steps {
    let assignment = assign(&codebook, &values);
    errors.push(assignment.error / values.len() as f64);
    for ((level, sum), count) in codebook.iter_mut().zip(&assignment.sums).zip(&assignment.counts) {
      if *count > 0 {
        *level = (sum / f64::from(*count)) as f32;
      }
    }
  }
  (codebook, errors)
}
