//! Drafts from the text itself: what followed the last tokens where they stood before.

use std::collections::HashMap;

use crate::token::Token;

/// Longest and shortest run of tokens that is looked up.
const LONGEST: usize = 4;
const SHORTEST: usize = 2;

/// Prompt-lookup drafting: finds the most recent earlier occurrence of the last tokens (the longest run that has one)
/// and proposes what followed it. Code, quotations and structured text repeat themselves enough for it to pay.
#[derive(Debug, Clone, Default)]
pub struct NgramDrafter {
  /// Ends (the index after the run) of the latest two occurrences of each run, the latest first.
  ends: HashMap<[Token; LONGEST], [usize; 2]>,
  indexed: usize,
}

impl NgramDrafter {
  /// An empty index.
  pub fn new() -> Self {
    Self::default()
  }

  /// Forgets everything: the next history is another one.
  pub fn clear(&mut self) {
    self.ends.clear();
    self.indexed = 0;
  }

  /// Up to `most` tokens that may follow `history`, which must begin with the history of the call before (or come after
  /// [`NgramDrafter::clear`]). Takes time for the new tokens only.
  pub fn draft(&mut self, history: &[Token], most: usize) -> Vec<Token> {
    if history.len() < self.indexed {
      self.clear();
    }
    for end in self.indexed + 1..=history.len() {
      for length in SHORTEST..=LONGEST.min(end) {
        let slot = self.ends.entry(key(&history[end - length..end])).or_insert([0; 2]);
        *slot = [end, slot[0]];
      }
    }
    self.indexed = history.len();
    let earlier = (SHORTEST..=LONGEST.min(history.len())).rev().find_map(|length| {
      let ends = self.ends.get(&key(&history[history.len() - length..]))?;
      ends.iter().copied().find(|&end| end > 0 && end < history.len())
    });
    let Some(start) = earlier else { return Vec::new() };
    // A draft that reaches the end of the history goes on in itself: the text is in a loop there.
    let period = history.len() - start;
    (0..most).map(|index| history[start + index % period]).collect()
  }
}

/// A run of tokens, shorter ones filled up in front with what no token is.
fn key(run: &[Token]) -> [Token; LONGEST] {
  let mut key = [Token::MIN; LONGEST];
  key[LONGEST - run.len()..].copy_from_slice(run);
  key
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn proposes_what_followed_the_longest_and_latest_match() {
    let mut drafter = NgramDrafter::new();
    assert_eq!(drafter.draft(&[1, 2, 3, 9, 1, 2, 4, 8, 7, 1, 2], 3), [4, 8, 7]);
    let history = [1, 2, 3, 9, 1, 2, 4, 8, 7, 1, 2, 3, 5, 0, 1, 2, 3];
    assert_eq!(drafter.draft(&history, 2), [5, 0]);
  }

  #[test]
  fn proposes_nothing_for_what_is_new() {
    assert!(NgramDrafter::new().draft(&[1, 2, 3, 4, 5], 4).is_empty());
    assert!(NgramDrafter::new().draft(&[], 4).is_empty());
    assert!(NgramDrafter::new().draft(&[1], 4).is_empty());
  }

  #[test]
  fn a_loop_is_drafted_beyond_the_end_of_the_history() {
    assert_eq!(NgramDrafter::new().draft(&[5, 6, 7, 5, 6, 7], 7), [5, 6, 7, 5, 6, 7, 5]);
  }

  #[test]
  fn growing_token_by_token_gives_what_a_fresh_index_gives() {
    let text: Vec<Token> = (0..200).map(|index| (index * index / 3 + index) % 11).collect();
    let mut growing = NgramDrafter::new();
    for end in 1..=text.len() {
      assert_eq!(growing.draft(&text[..end], 5), NgramDrafter::new().draft(&text[..end], 5), "at {end}");
    }
  }
}
