//! A radix tree over token ids.

use std::collections::BTreeMap;

use crate::decoder::Token;

/// Names a node; valid until its entry is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeId(usize);

#[derive(Debug)]
struct Node<E> {
  /// Tokens between the parent and this node.
  edge: Vec<Token>,
  parent: usize,
  children: BTreeMap<Token, usize>,
  entry: Option<E>,
}

/// Entries by their tokens. Every leaf but the root has an entry.
#[derive(Debug)]
pub(super) struct Tree<E> {
  nodes: Vec<Option<Node<E>>>,
  free: Vec<usize>,
}

const ROOT: usize = 0;

impl<E> Default for Tree<E> {
  fn default() -> Self {
    let root = Node { edge: Vec::new(), parent: ROOT, children: BTreeMap::new(), entry: None };
    Self { nodes: vec![Some(root)], free: Vec::new() }
  }
}

/// Where a walk along some tokens ended.
struct Walk {
  /// The last node that was entered, even if only part of its edge matched.
  node: usize,
  /// Tokens that matched.
  matched: usize,
  /// Tokens of the node's edge that matched.
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

  fn walk(&self, tokens: &[Token]) -> Walk {
    let mut walk = Walk { node: ROOT, matched: 0, within: 0 };
    while let Some(&child) =
      tokens.get(walk.matched).and_then(|token| self.node(walk.node).children.get(token))
    {
      let edge = &self.node(child).edge;
      let within = edge.iter().zip(&tokens[walk.matched..]).take_while(|(a, b)| a == b).count();
      walk = Walk { node: child, matched: walk.matched + within, within };
      if within < self.node(child).edge.len() {
        break;
      }
    }
    walk
  }

  /// Longest beginning of `tokens` that is in the tree.
  pub(super) fn shared(&self, tokens: &[Token]) -> usize {
    self.walk(tokens).matched
  }

  /// Every entry: its node, its length, and how much of its beginning `tokens` share.
  pub(super) fn compared(&self, tokens: &[Token]) -> impl Iterator<Item = (NodeId, usize, usize)> + '_ {
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
        let rest = if shared == depth { &tokens[shared..] } else { &[] };
        let common = edge.iter().zip(rest).take_while(|(a, b)| a == b).count();
        (child, depth + edge.len(), shared + common)
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

  /// The node of exactly `tokens`, made if need be; it must be given an entry.
  pub(super) fn place(&mut self, tokens: &[Token]) -> NodeId {
    let walk = self.walk(tokens);
    let mut node = walk.node;
    if walk.within < self.node(node).edge.len() {
      node = self.split(node, walk.within);
    }
    let rest = &tokens[walk.matched..];
    if let Some(&first) = rest.first() {
      let leaf = Node { edge: rest.to_vec(), parent: node, children: BTreeMap::new(), entry: None };
      let leaf = self.add(leaf);
      self.node_mut(node).children.insert(first, leaf);
      node = leaf;
    }
    NodeId(node)
  }

  /// Puts a node after the first `at` tokens of the edge of `node`, and returns it.
  fn split(&mut self, node: usize, at: usize) -> usize {
    let rest = self.node_mut(node).edge.split_off(at);
    let edge = std::mem::replace(&mut self.node_mut(node).edge, rest);
    let (parent, first, next) = (self.node(node).parent, edge[0], self.node(node).edge[0]);
    let middle = self.add(Node { edge, parent, children: BTreeMap::from([(next, node)]), entry: None });
    self.node_mut(node).parent = middle;
    self.node_mut(parent).children.insert(first, middle);
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
      let (parent, first) = (self.node(index).parent, self.node(index).edge[0]);
      self.nodes[index] = None;
      self.free.push(index);
      self.node_mut(parent).children.remove(&first);
      index = parent;
    }
    Some(entry)
  }
}
