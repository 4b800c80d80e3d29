//! A radix tree over histories.

use std::collections::BTreeMap;

use crate::history::{History, Media, Stretch};
use crate::token::Token;

/// Names a node; valid until its entry is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeId(usize);

/// What an edge begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum First {
  Token(Token),
  Media(Media),
}

impl First {
  fn of(stretch: Stretch<'_>) -> Option<Self> {
    match stretch {
      Stretch::Text(tokens) => tokens.first().copied().map(Self::Token),
      Stretch::Media(media) => Some(Self::Media(media)),
    }
  }
}

#[derive(Debug)]
struct Node<E> {
  /// What lies between the parent and this node.
  edge: History,
  parent: usize,
  children: BTreeMap<First, usize>,
  entry: Option<E>,
}

/// Entries by their histories. Every leaf but the root has an entry.
#[derive(Debug)]
pub(super) struct Tree<E> {
  nodes: Vec<Option<Node<E>>>,
  free: Vec<usize>,
}

const ROOT: usize = 0;

impl<E> Default for Tree<E> {
  fn default() -> Self {
    let root = Node { edge: History::default(), parent: ROOT, children: BTreeMap::new(), entry: None };
    Self { nodes: vec![Some(root)], free: Vec::new() }
  }
}

/// Where a walk along a history ended.
struct Walk {
  /// The last node that was entered, even if only part of its edge matched.
  node: usize,
  /// Cells that matched.
  matched: usize,
  /// Cells of the node's edge that matched.
  within: usize,
}

impl<E> Tree<E> {
  fn node(&self, index: usize) -> &Node<E> {
    self.nodes[index].as_ref().expect("indices name live nodes")
  }

  fn node_mut(&mut self, index: usize) -> &mut Node<E> {
    self.nodes[index].as_mut().expect("indices name live nodes")
  }

  fn add(&mut self, node: Node<E>) -> usize {
    if let Some(index) = self.free.pop() {
      self.nodes[index] = Some(node);
      return index;
    }
    self.nodes.push(Some(node));
    self.nodes.len() - 1
  }

  fn child(&self, index: usize, first: Option<Stretch<'_>>) -> Option<usize> {
    self.node(index).children.get(&First::of(first?)?).copied()
  }

  fn walk(&self, history: &History) -> Walk {
    let mut walk = Walk { node: ROOT, matched: 0, within: 0 };
    while let Some(child) = self.child(walk.node, history.after(walk.matched).next()) {
      let edge = &self.node(child).edge;
      let within = edge.after(0).common_prefix(history.after(walk.matched));
      walk = Walk { node: child, matched: walk.matched + within, within };
      if within < edge.len_cells() {
        break;
      }
    }
    walk
  }

  /// Longest beginning of `history` that is in the tree.
  pub(super) fn shared(&self, history: &History) -> usize {
    self.walk(history).matched
  }

  /// Every entry: its node, its length, and how much of its beginning `history` shares.
  pub(super) fn compared(&self, history: &History) -> impl Iterator<Item = (NodeId, usize, usize)> + '_ {
    let mut found = Vec::new();
    let mut open = vec![(ROOT, 0, 0)];
    while let Some((index, depth, shared)) = open.pop() {
      let node = self.node(index);
      if node.entry.is_some() {
        found.push((NodeId(index), depth, shared));
      }
      open.extend(node.children.values().map(|&child| {
        let edge = &self.node(child).edge;
        // What differs once differs from there on.
        let common = if shared == depth { edge.after(0).common_prefix(history.after(shared)) } else { 0 };
        (child, depth + edge.len_cells(), shared + common)
      }));
    }
    found.into_iter()
  }

  pub(super) fn entries(&self) -> impl Iterator<Item = (NodeId, &E)> + Clone {
    self
      .nodes
      .iter()
      .enumerate()
      .filter_map(|(index, node)| Some((NodeId(index), node.as_ref()?.entry.as_ref()?)))
  }

  pub(super) fn entry(&self, node: NodeId) -> Option<&E> {
    self.nodes.get(node.0)?.as_ref()?.entry.as_ref()
  }

  pub(super) fn entry_mut(&mut self, node: NodeId) -> Option<&mut E> {
    self.nodes.get_mut(node.0)?.as_mut()?.entry.as_mut()
  }

  /// The node of exactly `history`, made if need be; it must be given an entry.
  pub(super) fn place(&mut self, history: &History) -> NodeId {
    let walk = self.walk(history);
    let mut node = walk.node;
    if walk.within < self.node(node).edge.len_cells() {
      node = self.split(node, walk.within);
    }
    let rest = history.after(walk.matched);
    if let Some(first) = rest.clone().next().and_then(First::of) {
      let mut edge = History::default();
      edge.append(rest, history.len_cells());
      let leaf = self.add(Node { edge, parent: node, children: BTreeMap::new(), entry: None });
      self.node_mut(node).children.insert(first, leaf);
      node = leaf;
    }
    NodeId(node)
  }

  /// Puts a node after the first `at` cells of the edge of `node`, and returns it.
  fn split(&mut self, node: usize, at: usize) -> usize {
    let whole = &self.node(node).edge;
    let (edge, mut rest) = (whole.prefix(at), History::default());
    rest.append(whole.after(at), whole.len_cells());
    let (first, next) = (first_of(&edge), first_of(&rest));
    let parent = self.node(node).parent;
    self.node_mut(node).edge = rest;
    let children = next.into_iter().map(|next| (next, node)).collect();
    let middle = self.add(Node { edge, parent, children, entry: None });
    self.node_mut(node).parent = middle;
    if let Some(first) = first {
      self.node_mut(parent).children.insert(first, middle);
    }
    middle
  }

  /// Sets the entry of a node; returns the one it had.
  pub(super) fn set(&mut self, node: NodeId, entry: E) -> Option<E> {
    self.node_mut(node.0).entry.replace(entry)
  }

  /// Removes an entry and the nodes that lead to nothing else.
  pub(super) fn remove(&mut self, node: NodeId) -> Option<E> {
    let entry = self.nodes.get_mut(node.0)?.as_mut()?.entry.take()?;
    let mut index = node.0;
    while index != ROOT && self.node(index).entry.is_none() && self.node(index).children.is_empty() {
      let (parent, first) = (self.node(index).parent, first_of(&self.node(index).edge));
      self.nodes[index] = None;
      self.free.push(index);
      if let Some(first) = first {
        self.node_mut(parent).children.remove(&first);
      }
      index = parent;
    }
    Some(entry)
  }
}

fn first_of(edge: &History) -> Option<First> {
  edge.after(0).next().and_then(First::of)
}
