//! Search for several strings at once in text that arrives in pieces.
//!
//! Aho and Corasick, "Efficient string matching", 1975: the depth of the current node is the length of the longest
//! suffix read so far that begins a pattern, which is exactly what has to be held back. Matches are leftmost, and the
//! longest of those that start together.

use std::collections::VecDeque;
use std::ops::Range;

const ROOT: usize = 0;

#[derive(Debug, Default)]
struct Node {
  children: Vec<(u8, usize)>,
  /// The node of the longest proper suffix that begins a pattern.
  fallback: usize,
  /// Bytes from the root.
  depth: usize,
  /// Length of the longest pattern that ends here; 0 for none.
  hit: usize,
}

/// The patterns as a trie with fallback links.
#[derive(Debug)]
pub(super) struct Automaton {
  nodes: Vec<Node>,
}

/// How far a text was read. Positions are bytes of the buffer that the caller holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
  node: usize,
  position: usize,
  best: Option<Range<usize>>,
}

impl Automaton {
  /// Finds any of `patterns`; empty ones are ignored.
  pub(super) fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
    let mut automaton = Self { nodes: vec![Node::default()] };
    for pattern in patterns.into_iter().filter(|pattern| !pattern.is_empty()) {
      automaton.insert(pattern.as_bytes());
    }
    automaton.link();
    automaton
  }

  fn insert(&mut self, pattern: &[u8]) {
    let mut node = ROOT;
    for (index, &byte) in pattern.iter().enumerate() {
      node = self.child(node, byte).unwrap_or_else(|| {
        let created = self.nodes.len();
        self.nodes.push(Node { depth: index + 1, ..Node::default() });
        self.nodes[node].children.push((byte, created));
        created
      });
    }
    self.nodes[node].hit = pattern.len();
  }

  /// Breadth first, so that the fallback of a node is complete before its children need it.
  fn link(&mut self) {
    let mut queue = VecDeque::from([ROOT]);
    while let Some(parent) = queue.pop_front() {
      for (byte, child) in self.nodes[parent].children.clone() {
        let fallback = if parent == ROOT { ROOT } else { self.step(self.nodes[parent].fallback, byte) };
        let inherited = self.nodes[fallback].hit;
        let node = &mut self.nodes[child];
        node.fallback = fallback;
        if node.hit == 0 {
          node.hit = inherited;
        }
        queue.push_back(child);
      }
    }
  }

  fn child(&self, node: usize, byte: u8) -> Option<usize> {
    self.nodes[node].children.iter().find(|(label, _)| *label == byte).map(|&(_, child)| child)
  }

  fn step(&self, mut node: usize, byte: u8) -> usize {
    loop {
      if let Some(child) = self.child(node, byte) {
        return child;
      }
      if node == ROOT {
        return ROOT;
      }
      node = self.nodes[node].fallback;
    }
  }

  /// Reads on in `text` up to the next match that no later byte can change; `None` when the text is used up first.
  /// After a match the caller continues with [`Scan::at`] its end: bytes behind it may have been read already.
  pub(super) fn next_match(&self, scan: &mut Scan, text: &str) -> Option<Range<usize>> {
    if self.nodes[ROOT].children.is_empty() {
      scan.position = text.len();
      return None;
    }
    for &byte in &text.as_bytes()[scan.position..] {
      scan.node = self.step(scan.node, byte);
      scan.position += 1;
      let node = &self.nodes[scan.node];
      if node.hit > 0 {
        let found = scan.position - node.hit..scan.position;
        if scan.best.as_ref().is_none_or(|best| found.start <= best.start) {
          scan.best = Some(found);
        }
      }
      let open_from = scan.position - node.depth;
      let can_grow = !node.children.is_empty();
      let decided = |best: &mut Range<usize>| best.start < open_from || best.start == open_from && !can_grow;
      if let Some(best) = scan.best.take_if(decided) {
        return Some(best);
      }
    }
    None
  }

  /// Start of what may still become a match: text before it is safe to emit. Always a character boundary, because a
  /// pattern begins with a whole character.
  pub(super) fn held_from(&self, scan: &Scan) -> usize {
    scan.position - self.nodes[scan.node].depth
  }
}

impl Scan {
  /// A fresh scan that begins at `position`.
  pub(super) fn at(position: usize) -> Self {
    Self { position, ..Self::default() }
  }

  /// The match that only waited for a longer or earlier one, once no more text comes.
  pub(super) fn take_waiting(&mut self) -> Option<Range<usize>> {
    self.best.take()
  }

  /// Has `found` be what waits.
  pub(super) fn wait(&mut self, found: Range<usize>) {
    self.best = Some(found);
  }

  /// Follows the removal of `bytes` from the front of the buffer.
  pub(super) fn shift(&mut self, bytes: usize) {
    self.position -= bytes;
    if let Some(best) = &mut self.best {
      *best = best.start - bytes..best.end - bytes;
    }
  }
}

#[cfg(test)]
mod tests {
  use super::*;

  fn first(patterns: &[&str], text: &str) -> Option<Range<usize>> {
    let automaton = Automaton::new(patterns.iter().copied());
    let mut scan = Scan::default();
    automaton.next_match(&mut scan, text).or_else(|| scan.take_waiting())
  }

  #[test]
  fn the_earliest_match_wins_even_when_another_ends_first() {
    assert_eq!(first(&["bc", "abcd"], "xabcd"), Some(1..5));
    assert_eq!(first(&["bc", "abcd"], "xabcx"), Some(2..4));
  }

  #[test]
  fn the_longest_of_matches_that_start_together_wins() {
    assert_eq!(first(&["\n", "\n\n"], "a\n\nb"), Some(1..3));
    assert_eq!(first(&["\n", "\n\n"], "a\nb"), Some(1..2));
  }

  #[test]
  fn a_match_that_cannot_grow_is_reported_at_its_last_byte() {
    let automaton = Automaton::new(["end"]);
    let mut scan = Scan::default();
    assert_eq!(automaton.next_match(&mut scan, "the end"), Some(4..7));
  }

  #[test]
  fn a_failed_beginning_is_released_up_to_the_next_possible_one() {
    let automaton = Automaton::new(["aab"]);
    let mut scan = Scan::default();
    assert_eq!(automaton.next_match(&mut scan, "aaa"), None);
    assert_eq!(automaton.held_from(&scan), 1);
  }

  #[test]
  fn nothing_is_found_or_held_without_patterns() {
    let automaton = Automaton::new(["", ""]);
    let mut scan = Scan::default();
    assert_eq!(automaton.next_match(&mut scan, "text"), None);
    assert_eq!(automaton.held_from(&scan), 4);
  }
}
