//! Snapshots of evaluated prompts in memory, found by the histories they hold: a radix tree with a byte budget.

mod tree;

use std::sync::Arc;

use crate::decoder::Reach;
use crate::history::History;
use tree::{NodeId, Tree};

/// Part of the budget that pinned snapshots may take; with more, the longest unused pin becomes an ordinary snapshot.
const PINNED_SHARE: (usize, usize) = (3, 4);

/// What is known of a stored snapshot.
#[derive(Debug, Clone)]
struct Entry {
  state: Arc<Vec<u8>>,
  bytes: usize,
  used: u64,
  pinned: bool,
  conversation: Option<Arc<str>>,
}

/// A stored snapshot that serves a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
  node: NodeId,
  /// Cells that the snapshot holds.
  pub stored: usize,
  /// Cells of the prompt that need no evaluation after it was restored and cut back.
  pub usable: usize,
}

/// What a new snapshot is kept for.
#[derive(Debug, Clone, Default)]
pub struct Label {
  /// It stays until pins exceed their share of the budget.
  pub pinned: bool,
  /// Conversation that it belongs to.
  pub conversation: Option<Arc<str>>,
}

/// Snapshots by their histories. When they exceed the budget, the longest unused ones go first, pinned ones last.
#[derive(Debug)]
pub struct PrefixStore {
  tree: Tree<Entry>,
  reach: Reach,
  budget: usize,
  bytes: usize,
  clock: u64,
  lost: Vec<Arc<str>>,
}

impl PrefixStore {
  /// An empty store for at most `budget` bytes of snapshots with this reach; with 0 it keeps nothing.
  pub fn new(budget: usize, reach: Reach) -> Self {
    Self { tree: Tree::default(), reach, budget, bytes: 0, clock: 0, lost: Vec::new() }
  }

  /// Whether anything can be stored.
  pub fn enabled(&self) -> bool {
    self.budget > 0
  }

  /// Bytes in use.
  pub fn bytes(&self) -> usize {
    self.bytes
  }

  /// Snapshots stored.
  pub fn len(&self) -> usize {
    self.tree.entries().count()
  }

  /// Whether nothing is stored.
  pub fn is_empty(&self) -> bool {
    self.tree.entries().next().is_none()
  }

  /// The snapshot that saves a prompt the most evaluation, if its first `limit` cells may come from one.
  /// Of equals the shortest, which is restored fastest.
  pub fn longest(&self, prompt: &History, limit: usize) -> Option<Hit> {
    let hits = self.tree.compared(prompt).map(|(node, stored, shared)| Hit {
      node,
      stored,
      usable: self.reach.usable(stored, shared, limit),
    });
    hits.filter(|hit| hit.usable > 0).min_by_key(|hit| (std::cmp::Reverse(hit.usable), hit.stored))
  }

  /// The bytes of a hit; counts as a use.
  pub fn take(&mut self, hit: Hit) -> Option<Arc<Vec<u8>>> {
    self.clock += 1;
    let entry = self.tree.entry_mut(hit.node)?;
    entry.used = self.clock;
    Some(Arc::clone(&entry.state))
  }

  /// Longest beginning that `history` shares with anything stored, usable or not.
  pub fn shared(&self, history: &History) -> usize {
    self.tree.shared(history)
  }

  /// Whether a restored snapshot would give all of `history`.
  pub fn covers(&self, history: &History) -> bool {
    self.covering(history).is_some()
  }

  fn covering(&self, history: &History) -> Option<Hit> {
    let length = history.len_cells();
    self.longest(history, length).filter(|hit| hit.usable == length)
  }

  /// Pins what covers `history`; false if nothing does.
  pub fn pin(&mut self, history: &History) -> bool {
    let Some(hit) = self.covering(history) else { return false };
    self.clock += 1;
    if let Some(entry) = self.tree.entry_mut(hit.node) {
      (entry.used, entry.pinned) = (self.clock, true);
    }
    self.limit_pins();
    true
  }

  /// Keeps a snapshot of `history`; false if the budget, or what pins leave of it, is too small for it.
  pub fn insert(&mut self, history: &History, state: Arc<Vec<u8>>, label: Label) -> bool {
    let bytes = state.len() + history.bytes();
    if bytes > self.budget || history.is_empty() {
      return false;
    }
    if self.reach == Reach::Any {
      self.drop_prefixes(history);
    }
    self.clock += 1;
    let node = self.tree.place(history);
    let pinned = label.pinned || self.tree.entry_mut(node).is_some_and(|entry| entry.pinned);
    let entry = Entry { state, bytes, used: self.clock, pinned, conversation: label.conversation };
    if let Some(old) = self.tree.set(node, entry) {
      self.bytes -= old.bytes;
    }
    self.bytes += bytes;
    self.limit_pins();
    self.evict();
    self.tree.entry(node).is_some()
  }

  /// Conversations whose last snapshot went since the last call.
  pub fn take_lost(&mut self) -> Vec<Arc<str>> {
    std::mem::take(&mut self.lost)
  }

  /// A snapshot that can be cut back to any position makes those of its beginnings superfluous.
  fn drop_prefixes(&mut self, history: &History) {
    let prefixes: Vec<_> = self
      .tree
      .compared(history)
      .filter(|&(_, stored, shared)| stored == shared && stored < history.len_cells())
      .map(|(node, ..)| node)
      .filter(|&node| self.tree.entry(node).is_some_and(|entry| !entry.pinned))
      .collect();
    for node in prefixes {
      if let Some(entry) = self.tree.remove(node) {
        self.bytes -= entry.bytes;
      }
    }
  }

  fn limit_pins(&mut self) {
    let share = self.budget / PINNED_SHARE.1 * PINNED_SHARE.0;
    loop {
      let pins = self.tree.entries().filter(|(_, entry)| entry.pinned);
      if pins.clone().map(|(_, entry)| entry.bytes).sum::<usize>() <= share {
        return;
      }
      let oldest = pins.min_by_key(|(_, entry)| entry.used).map(|(node, _)| node);
      match oldest.and_then(|node| self.tree.entry_mut(node)) {
        Some(entry) => entry.pinned = false,
        None => return,
      }
    }
  }

  fn evict(&mut self) {
    while self.bytes > self.budget {
      let oldest = self.tree.entries().min_by_key(|(_, entry)| (entry.pinned, entry.used));
      let Some(entry) = oldest.map(|(node, _)| node).and_then(|node| self.tree.remove(node)) else { return };
      self.bytes -= entry.bytes;
      self.lost.extend(entry.conversation);
    }
  }
}
