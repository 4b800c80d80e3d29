//! Functions of single numbers, in plain arithmetic that becomes vector code.

use super::level::Level;

/// `e^x` within 1.2e-7 of its value (the polynomial of the Cephes library), for any finite x: beyond -87 and 88 it stays.
#[inline(always)]
fn exp(x: f32) -> f32 {
  // Adding and taking away 1.5 * 2^23 rounds to an integer, which then stands in the lowest bits.
  const ROUND: f32 = 12_582_912.0;
  let x = x.clamp(-87.0, 88.0);
  let shifted = x * std::f32::consts::LOG2_E + ROUND;
  let whole = shifted - ROUND;
  // The natural logarithm of 2 in two parts, the first of which is exact in few bits.
  let r = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
  let mut p = 1.987_569_2e-4;
  for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5] {
    p = p * r + coefficient;
  }
  let mantissa = p * r * r + r + 1.0;
  let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
  mantissa * scale
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
  1.0 / (1.0 + exp(-x))
}

/// The hyperbolic tangent, also near 0 within 2e-7 of its value (the polynomial of the Cephes library).
#[inline(always)]
fn tanh(x: f32) -> f32 {
  let square = x * x;
  let mut p = -5.704_988_7e-3;
  for coefficient in [2.063_909e-2, -5.373_971_6e-2, 0.133_314_42, -0.333_332_8] {
    p = p * square + coefficient;
  }
  let near = p * square * x + x;
  let far = 1.0 - 2.0 / (exp(2.0 * x) + 1.0);
  if x.abs() < 0.625 { near } else { far }
}

/// The cell of a long short-term memory: `gates` are the sums of the input, forget, cell and output gates, in this order;
/// `cell` and `state` are updated.
pub(crate) fn lstm_cell(level: Level, gates: &[f32], cell: &mut [f32], state: &mut [f32]) {
  match level {
    // SAFETY: a network is only made for a level that is available.
    #[cfg(target_arch = "x86_64")]
    Level::Avx2 => unsafe { lstm_cell_avx2(gates, cell, state) },
    // SAFETY: as above.
    #[cfg(target_arch = "x86_64")]
    Level::Avx512 => unsafe { lstm_cell_avx512(gates, cell, state) },
    _ => lstm_cell_in(gates, cell, state),
  }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn lstm_cell_avx2(gates: &[f32], cell: &mut [f32], state: &mut [f32]) {
  lstm_cell_in(gates, cell, state);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn lstm_cell_avx512(gates: &[f32], cell: &mut [f32], state: &mut [f32]) {
  lstm_cell_in(gates, cell, state);
}

#[inline(always)]
fn lstm_cell_in(gates: &[f32], cell: &mut [f32], state: &mut [f32]) {
  let size = cell.len();
  let (input, rest) = gates.split_at(size);
  let (forget, rest) = rest.split_at(size);
  let (candidate, output) = rest.split_at(size);
  let (output, state) = (&output[..size], &mut state[..size]);
  for index in 0..size {
    cell[index] = sigmoid(forget[index]) * cell[index] + sigmoid(input[index]) * tanh(candidate[index]);
    state[index] = sigmoid(output[index]) * tanh(cell[index]);
  }
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn the_exponential_is_within_rounding_of_the_true_one() {
    for step in -8_700..8_800 {
      let x = step as f32 / 100.0;
      let wanted = f64::from(x).exp();
      assert!((f64::from(exp(x)) / wanted - 1.0).abs() < 2e-7, "e^{x}");
    }
  }

  #[test]
  fn the_hyperbolic_tangent_is_within_rounding_of_the_true_one() {
    for step in -40_000..40_000 {
      let x = step as f32 / 4_000.0 + 1e-5;
      assert!((f64::from(tanh(x)) / f64::from(x).tanh() - 1.0).abs() < 3e-7, "tanh({x})");
    }
  }

  #[test]
  fn far_out_the_functions_reach_their_limits() {
    assert_eq!([sigmoid(1e30), tanh(1e30), tanh(-1e30)], [1.0, 1.0, -1.0]);
    assert!(sigmoid(-1e30) < 1e-37);
  }
}
