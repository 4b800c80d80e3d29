//! A grammar as a tree.

/// What an element matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::grammar) enum Item {
  /// Characters one after the other; none at all for an empty literal.
  Literal(String),
  /// One character within, or outside, of the ranges.
  Class { negated: bool, ranges: Vec<(char, char)> },
  /// One token, or any other: by number, or by its text.
  Token { negated: bool, name: TokenName },
  /// A rule, by its index.
  Rule(usize),
  /// A choice in parentheses.
  Group(Vec<Sequence>),
}

/// How a token is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::grammar) enum TokenName {
  Number(u32),
  Text(String),
}

/// An item and how often it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::grammar) struct Element {
  pub(in crate::grammar) item: Item,
  pub(in crate::grammar) least: u32,
  /// `None`: as often as wanted.
  pub(in crate::grammar) most: Option<u32>,
}

pub(in crate::grammar) type Sequence = Vec<Element>;

/// A grammar: alternatives of each rule, and the rule that the text must match.
#[derive(Debug)]
pub(in crate::grammar) struct Gbnf {
  pub(in crate::grammar) rules: Vec<Vec<Sequence>>,
  pub(in crate::grammar) root: usize,
}
