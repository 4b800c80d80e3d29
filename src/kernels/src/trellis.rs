//! The trellis of `TBQ3_TCQ`: 512 states of nine bits; a step shifts three new bits in at the top.

mod train;

use std::sync::LazyLock;

pub use train::train_trellis;

const STATES: usize = 512;
/// How a state continues depends on its upper six bits: there are 64 ways, and eight states for each.
const WAYS: usize = 64;
const BRANCHES: usize = 8;

/// 512 values of f32, little endian, in units of the standard deviation; made by `examples/train_trellis.rs`.
static TRAINED: &[u8; 4 * STATES] = include_bytes!("../data/trellis-codebook.f32");

/// What each state decodes to.
pub(crate) static CODEBOOK: LazyLock<[f32; STATES]> = LazyLock::new(|| {
  let (values, _) = TRAINED.as_chunks::<4>();
  std::array::from_fn(|i| f32::from_le_bytes(values[i]))
});

/// The same in f64.
pub(crate) static CODEBOOK_F64: LazyLock<[f64; STATES]> = LazyLock::new(|| CODEBOOK.map(f64::from));

static SEARCH: LazyLock<Search> = LazyLock::new(|| Search::new(&CODEBOOK));

/// The sequence of states whose codebook values are nearest to `values`; any first state is allowed.
pub(crate) fn best_path(values: &[f64]) -> Vec<u16> {
  SEARCH.best_path(values)
}

/// Viterbi's algorithm (1967). States lie where the compiler can work on many at once: state `8 way + branch` at
/// `64 branch + way`.
struct Search {
  levels: [f32; STATES],
}

/// For each way, the cost of the cheapest state that continues so, and its branch.
type Cheapest = ([f32; WAYS], [u32; WAYS]);

impl Search {
  fn new(codebook: &[f32; STATES]) -> Self {
    Self { levels: std::array::from_fn(|at| codebook[at % WAYS * BRANCHES + at / WAYS]) }
  }

  fn best_path(&self, values: &[f64]) -> Vec<u16> {
    let mut costs = [0.0; STATES];
    let mut branches = Vec::with_capacity(values.len());
    for (t, value) in values.iter().enumerate() {
      if t > 0 {
        let (cheapest, from) = cheapest(&costs);
        repeat(&cheapest, &mut costs);
        branches.push(from);
      }
      #[allow(clippy::cast_possible_truncation)] // costs are f32
      add_distances(&mut costs, &self.levels, *value as f32);
    }
    trace_back(&costs, &branches)
  }
}

/// The lowest of equally cheap branches.
fn cheapest(costs: &[f32; STATES]) -> Cheapest {
  let mut best = [f32::INFINITY; WAYS];
  let mut from = [0; WAYS];
  for (branch, costs) in (0..).zip(costs.as_chunks::<WAYS>().0) {
    for ((best, from), cost) in best.iter_mut().zip(&mut from).zip(costs) {
      let is_cheaper = *cost < *best;
      *best = if is_cheaper { *cost } else { *best };
      *from = if is_cheaper { branch } else { *from };
    }
  }
  (best, from)
}

/// Whatever the new bits are, a state that comes by way `w` costs what `w` does. State `way + 64 new` lies at
/// `64 (way % 8) + 8 new + way / 8`.
fn repeat(ways: &[f32; WAYS], costs: &mut [f32; STATES]) {
  for (lower, costs) in costs.as_chunks_mut::<WAYS>().0.iter_mut().enumerate() {
    let eight: [f32; BRANCHES] = std::array::from_fn(|upper| ways[BRANCHES * upper + lower]);
    costs.as_chunks_mut().0.fill(eight);
  }
}

fn add_distances(costs: &mut [f32; STATES], levels: &[f32; STATES], value: f32) {
  for (cost, level) in costs.iter_mut().zip(levels) {
    let distance = value - level;
    *cost += distance * distance;
  }
}

#[allow(clippy::cast_possible_truncation)] // state numbers are below 512
fn trace_back(costs: &[f32; STATES], branches: &[[u32; WAYS]]) -> Vec<u16> {
  let cost_of = |state: usize| costs[state % BRANCHES * WAYS + state / BRANCHES];
  let mut state = 0;
  for candidate in 1..STATES {
    if cost_of(candidate) < cost_of(state) {
      state = candidate;
    }
  }
  let mut path = vec![state as u16];
  for from in branches.iter().rev() {
    let way = state % WAYS;
    state = way * BRANCHES + from[way] as usize;
    path.push(state as u16);
  }
  path.reverse();
  path
}

#[cfg(test)]
mod tests {
  use super::*;
  use crate::random::SplitMix64;

  #[test]
  fn the_path_is_one_that_the_trellis_allows() {
    let path = best_path(&SplitMix64::new(5).gaussians(128));
    for step in path.windows(2) {
      assert_eq!(step[0] >> 3, step[1] & 63);
    }
  }

  /// Every sequence of four values, tried out.
  #[test]
  fn no_other_path_is_nearer() {
    for seed in 0..8 {
      let values = SplitMix64::new(seed).gaussians(4);
      let cost = |path: &[usize]| -> f64 {
        path.iter().zip(&values).map(|(state, value)| (CODEBOOK_F64[*state] - value).powi(2)).sum()
      };
      let mut least = f64::INFINITY;
      for bits in 0..1 << (9 + 3 * 3) {
        let path: [usize; 4] = std::array::from_fn(|t| bits >> (3 * t) & 511);
        least = least.min(cost(&path));
      }
      let path: Vec<usize> = best_path(&values).into_iter().map(usize::from).collect();
      assert!(cost(&path) <= least + 1e-6, "{} is not {least}", cost(&path));
    }
  }
}
