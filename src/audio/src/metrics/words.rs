//! Word error rate.

/// How a transcript differs from what was said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WordErrors {
  /// Words that are right.
  pub hits: usize,
  /// Words in place of others.
  pub substitutions: usize,
  /// Words that are missing.
  pub deletions: usize,
  /// Words that were not said.
  pub insertions: usize,
}

impl WordErrors {
  /// All errors.
  pub fn errors(&self) -> usize {
    self.substitutions + self.deletions + self.insertions
  }

  /// Errors for each word that was said: 0 or more, above 1 if more is wrong than was said. None if nothing was said and
  /// something was written.
  pub fn rate(&self) -> Option<f64> {
    let said = self.hits + self.substitutions + self.deletions;
    match (said, self.errors()) {
      (0, 0) => Some(0.0),
      (0, _) => None,
      (said, errors) => Some(errors as f64 / said as f64),
    }
  }
}

impl std::ops::AddAssign for WordErrors {
  fn add_assign(&mut self, other: Self) {
    self.hits += other.hits;
    self.substitutions += other.substitutions;
    self.deletions += other.deletions;
    self.insertions += other.insertions;
  }
}

/// The words of a text for comparison: lower case, without punctuation but for apostrophes within words.
pub fn words(text: &str) -> Vec<String> {
  text
    .split(|letter: char| !(letter.is_alphanumeric() || letter == '\'' || letter == '’'))
    .map(|word| word.replace('’', "'").trim_matches('\'').to_lowercase())
    .filter(|word| !word.is_empty())
    .collect()
}

/// The fewest errors that turn `said` into `written` (Levenshtein). Of several ways with as few, one with the most hits.
pub fn word_errors<T: PartialEq>(said: &[T], written: &[T]) -> WordErrors {
  let mut above: Vec<WordErrors> =
    (0..=written.len()).map(|insertions| WordErrors { insertions, ..WordErrors::default() }).collect();
  for (row, word) in said.iter().enumerate() {
    let mut corner = above[0];
    above[0] = WordErrors { deletions: row + 1, ..WordErrors::default() };
    for (column, other) in written.iter().enumerate() {
      let mut across = corner;
      if word == other {
        across.hits += 1;
      } else {
        across.substitutions += 1;
      }
      corner = above[column + 1];
      let mut down = above[column + 1];
      down.deletions += 1;
      let mut along = above[column];
      along.insertions += 1;
      above[column + 1] = [across, down, along]
        .into_iter()
        .min_by_key(|way| (way.errors(), usize::MAX - way.hits))
        .unwrap_or_default();
    }
  }
  above[written.len()]
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn each_kind_of_error_is_counted() {
    let errors = word_errors(&words("Don't stop, the music!"), &words("don’t stop a music now"));
    assert_eq!(errors, WordErrors { hits: 3, substitutions: 1, deletions: 0, insertions: 1 });
    assert_eq!(errors.rate(), Some(0.5));
    assert_eq!(word_errors(&words("stop the music"), &words("music")).deletions, 2);
  }

  #[test]
  fn silence_is_right_or_cannot_be_rated() {
    assert_eq!(word_errors::<String>(&[], &[]).rate(), Some(0.0));
    assert_eq!(word_errors(&[], &words("hello")).rate(), None);
    assert_eq!(word_errors(&words("hello"), &[]).rate(), Some(1.0));
  }
}
