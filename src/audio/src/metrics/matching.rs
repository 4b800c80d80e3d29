//! Which speaker of one list is which of another.

/// For each row of `weights`, the column that it gets, so that no two rows share one and the sum is the largest: the
/// Hungarian method with potentials (H. Kuhn, 1955; J. Munkres, 1957). Rows beyond the columns get none.
pub(super) fn best_matching(weights: &[Vec<f64>]) -> Vec<Option<usize>> {
  let columns = weights.first().map_or(0, Vec::len);
  let size = weights.len().max(columns);
  let cost =
    |row: usize, column: usize| -weights.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0.0);
  // Places are counted from 1; place 0 is the row that looks for a column.
  let mut owner = vec![0; size + 1];
  let (mut row_price, mut column_price) = (vec![0.0; size + 1], vec![0.0; size + 1]);
  for row in 1..=size {
    owner[0] = row;
    let mut column = 0;
    let mut slack = vec![f64::INFINITY; size + 1];
    let mut from = vec![0; size + 1];
    let mut seen = vec![false; size + 1];
    while owner[column] != 0 {
      seen[column] = true;
      let (mut step, mut next) = (f64::INFINITY, 0);
      for other in (1..=size).filter(|other| !seen[*other]) {
        let reduced = cost(owner[column] - 1, other - 1) - row_price[owner[column]] - column_price[other];
        if reduced < slack[other] {
          (slack[other], from[other]) = (reduced, column);
        }
        if slack[other] < step {
          (step, next) = (slack[other], other);
        }
      }
      for other in 0..=size {
        if seen[other] {
          row_price[owner[other]] += step;
          column_price[other] -= step;
        } else {
          slack[other] -= step;
        }
      }
      column = next;
    }
    while column != 0 {
      owner[column] = owner[from[column]];
      column = from[column];
    }
  }
  let mut matching = vec![None; weights.len()];
  for (column, row) in owner[1..=columns].iter().enumerate() {
    if let Some(place) = matching.get_mut(row.wrapping_sub(1)) {
      *place = Some(column);
    }
  }
  matching
}

#[cfg(test)]
mod tests {
  use super::*;
  use proptest::prelude::*;

  fn total(weights: &[Vec<f64>], matching: &[Option<usize>]) -> f64 {
    matching.iter().enumerate().filter_map(|(row, column)| Some(weights[row][(*column)?])).sum()
  }

  /// The best of all ways, tried one by one.
  fn best(weights: &[Vec<f64>], row: usize, taken: &mut Vec<bool>) -> f64 {
    if row == weights.len() {
      return 0.0;
    }
    let mut most = best(weights, row + 1, taken);
    for column in 0..taken.len() {
      if !taken[column] {
        taken[column] = true;
        most = most.max(weights[row][column] + best(weights, row + 1, taken));
        taken[column] = false;
      }
    }
    most
  }

  proptest! {
    #[test]
    fn no_other_matching_is_better(rows in 0usize..5, columns in 0usize..5, numbers in prop::collection::vec(0.0..9.0, 25)) {
      let weights: Vec<Vec<f64>> = (0..rows).map(|row| numbers[row * 5..row * 5 + columns].to_vec()).collect();
      let matching = best_matching(&weights);
      let mut used: Vec<usize> = matching.iter().flatten().copied().collect();
      used.sort_unstable();
      prop_assert!(used.windows(2).all(|pair| pair[0] != pair[1]));
      let most = best(&weights, 0, &mut vec![false; columns]);
      prop_assert!((total(&weights, &matching) - most).abs() < 1e-9);
    }
  }
}
