//! The sum of products, which most of this crate's time goes into.

const LANES: usize = 16;

/// Sum of the products of `a` and `b`, which have the same length. Sixteen partial sums, so that it becomes vector code.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
  debug_assert_eq!(a.len(), b.len());
  let mut sums = [0.0f32; LANES];
  let (a, a_rest) = a.as_chunks::<LANES>();
  let (b, b_rest) = b.as_chunks::<LANES>();
  for (a, b) in a.iter().zip(b) {
    for lane in 0..LANES {
      sums[lane] += a[lane] * b[lane];
    }
  }
  let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
  sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn every_length_is_summed_whole() {
    for length in 0..70 {
      let a: Vec<f32> = (0..length).map(|index| index as f32).collect();
      let expected: f32 = a.iter().map(|value| value * 2.0).sum();
      assert!((dot(&a, &vec![2.0; length]) - expected).abs() < 1e-3);
    }
  }
}
