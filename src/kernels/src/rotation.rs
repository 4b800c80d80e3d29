//! The fixed orthogonal maps of the formats. All are made from a rule or a seed when they are first used.

use std::sync::LazyLock;

use crate::random::{SplitMix64, Xorshift32};

/// Unnormalised Walsh-Hadamard transform in place; the length is a power of two.
pub(crate) fn hadamard(values: &mut [f64]) {
  let mut half = 1;
  while half < values.len() {
    for pair in values.chunks_exact_mut(2 * half) {
      let (left, right) = pair.split_at_mut(half);
      for (a, b) in left.iter_mut().zip(right) {
        (*a, *b) = (*a + *b, *a - *b);
      }
    }
    half *= 2;
  }
}

const SYMBOLS: &[u8; 32] = b"+-++-+--++-+--+--++-+--++-+--+-+";

/// What `TBQ3_0` and `TBQ4_0` multiply a block of 32 with before the transform.
pub(crate) static SIGNS_32: LazyLock<[f32; 32]> = LazyLock::new(|| {
  let mut signs = [1.0; 32];
  for (sign, symbol) in signs.iter_mut().zip(SYMBOLS) {
    if *symbol == b'-' {
      *sign = -1.0;
    }
  }
  signs
});

fn seeded_signs(seed: u64) -> [f32; 128] {
  let mut random = SplitMix64::new(seed);
  std::array::from_fn(|_| if random.next() >> 63 == 0 { 1.0 } else { -1.0 })
}

/// The signs before and after the transform of `TBQ3_TCQ`.
pub(crate) static TCQ_SIGNS: LazyLock<[[f32; 128]; 2]> =
  LazyLock::new(|| [seeded_signs(0x7463_715F_696E), seeded_signs(0x0074_6371_5F6F_7574)]);

/// The direction along which the residual bit of `Q4_POLAR` moves a block: bit i set means +1.
pub(crate) static RESIDUAL_SIGNS: LazyLock<[u8; 16]> = LazyLock::new(|| {
  let mut random = Xorshift32::new(42);
  let mut bits = [0; 16];
  for i in 0..128 {
    if random.next() & 1 == 1 {
      bits[i / 8] |= 1 << (i % 8);
    }
  }
  bits
});

/// A dense map, row by row.
pub(crate) struct Matrix {
  columns: usize,
  values: Vec<f32>,
}

impl Matrix {
  #[allow(clippy::cast_possible_truncation)] // the format stores f32
  fn new(columns: usize, values: &[f64]) -> Self {
    Self { columns, values: values.iter().map(|value| *value as f32).collect() }
  }

  /// `to = M from`
  pub(crate) fn apply(&self, from: &[f64], to: &mut [f64]) {
    for (row, out) in self.values.chunks_exact(self.columns).zip(to) {
      *out = row.iter().zip(from).map(|(m, x)| f64::from(*m) * x).sum();
    }
  }

  /// `to = transpose(M) from`
  pub(crate) fn apply_transposed(&self, from: &[f64], to: &mut [f64]) {
    to.fill(0.0);
    for (row, x) in self.values.chunks_exact(self.columns).zip(from) {
      for (m, out) in row.iter().zip(&mut *to) {
        *out += f64::from(*m) * x;
      }
    }
  }
}

/// QJL: 128 x 256 values of N(0, 1); column j is the direction whose side sign j tells.
pub(crate) static PROJECTION: LazyLock<Matrix> = LazyLock::new(|| {
  let values = SplitMix64::new(0x2A ^ 0xC0FF_EE12_3456_7890).gaussians(128 * 256);
  Matrix::new(256, &values)
});

/// `TBQ3_K` and `TBQ4_K`: the orthogonal factor of a normal 128 x 128 matrix, with signs such that the other factor's
/// diagonal is positive (so that it is unique).
pub(crate) static ORTHOGONAL_128: LazyLock<Matrix> = LazyLock::new(|| {
  let gaussians = SplitMix64::new(0x517C_C1B7_2722_0A95).gaussians(128 * 128);
  Matrix::new(128, &orthogonal_factor(128, gaussians))
});

/// Q of A = QR by Householder reflections; `a` is n x n, row by row.
fn orthogonal_factor(n: usize, mut a: Vec<f64>) -> Vec<f64> {
  let mut q: Vec<f64> = (0..n * n).map(|i| if i % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
  let mut diagonal_signs = vec![1.0; n];
  for k in 0..n {
    let column: Vec<f64> = (k..n).map(|row| a[row * n + k]).collect();
    let norm = column.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut v = column;
    v[0] += norm.copysign(v[0]);
    diagonal_signs[k] = -f64::copysign(1.0, v[0]);
    let length = v.iter().map(|x| x * x).sum::<f64>();
    // A becomes HA, Q becomes QH, with H = I - 2 v v' / v'v on the rows from k on.
    for j in 0..n {
      let dot: f64 = v.iter().enumerate().map(|(i, x)| x * a[(k + i) * n + j]).sum();
      for (i, x) in v.iter().enumerate() {
        a[(k + i) * n + j] -= 2.0 * dot / length * x;
      }
    }
    for row in q.chunks_exact_mut(n) {
      let dot: f64 = v.iter().zip(&row[k..]).map(|(x, y)| x * y).sum();
      for (x, y) in v.iter().zip(&mut row[k..]) {
        *y -= 2.0 * dot / length * x;
      }
    }
  }
  for (i, value) in q.iter_mut().enumerate() {
    *value *= diagonal_signs[i % n];
  }
  q
}

#[cfg(test)]
mod tests {
  use super::*;

  /// The columns of a map of `n` values are orthogonal and as long as `length`.
  fn assert_orthogonal(n: usize, length: f64, map: impl Fn(&mut [f64])) {
    let columns: Vec<Vec<f64>> = (0..n)
      .map(|i| {
        let mut column = vec![0.0; n];
        column[i] = 1.0;
        map(&mut column);
        column
      })
      .collect();
    for (i, a) in columns.iter().enumerate() {
      for (j, b) in columns.iter().enumerate() {
        let dot: f64 = a.iter().zip(b).map(|(x, y)| x * y).sum();
        let expected = if i == j { length * length } else { 0.0 };
        assert!((dot - expected).abs() < 1e-5 * length * length, "columns {i} and {j}: {dot}");
      }
    }
  }

  #[test]
  fn the_hadamard_transform_is_orthogonal_and_its_own_inverse() {
    for n in [32, 128, 256] {
      #[allow(clippy::cast_precision_loss)] // small
      assert_orthogonal(n, (n as f64).sqrt(), hadamard);
    }
  }

  #[test]
  fn the_dense_rotation_is_orthogonal() {
    assert_orthogonal(128, 1.0, |values| {
      let from = values.to_vec();
      ORTHOGONAL_128.apply(&from, values);
    });
    assert_orthogonal(128, 1.0, |values| {
      let from = values.to_vec();
      ORTHOGONAL_128.apply_transposed(&from, values);
    });
  }

  #[test]
  fn the_projection_is_normal() {
    let n = 128.0 * 256.0;
    let values = || PROJECTION.values.iter().map(|value| f64::from(*value));
    let (mean, square) = (values().sum::<f64>() / n, values().map(|x| x * x).sum::<f64>() / n);
    assert!(mean.abs() < 4.0 / f64::sqrt(n), "mean {mean}");
    assert!((square - 1.0).abs() < 4.0 * f64::sqrt(2.0 / n), "variance {square}");
  }

  #[test]
  fn signs_are_balanced_enough_to_mix() {
    for signs in TCQ_SIGNS.iter() {
      assert!(signs.iter().sum::<f32>().abs() < 40.0);
    }
    let set: u32 = RESIDUAL_SIGNS.iter().map(|byte| byte.count_ones()).sum();
    assert!((44..=84).contains(&set));
    assert!(SIGNS_32.iter().sum::<f32>().abs() <= 4.0);
  }
}
