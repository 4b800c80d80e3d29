//! What a grammar's rules reach, and which of them may be empty.

use super::super::error::invalid;
use super::super::gbnf::{Element, Gbnf, Item, Sequence};
use crate::error::Result;

/// What follows from the rules' references.
pub(super) struct Facts {
  pub(super) reached: Vec<bool>,
  pub(super) nullable: Vec<bool>,
  pub(super) recursive: bool,
}

impl Facts {
  pub(super) fn of(grammar: &Gbnf) -> Result<Self> {
    let nullable = nullable(grammar);
    let (reached, recursive) = visit(grammar, &|index| references(&grammar.rules[index]), &[grammar.root]);
    let all: Vec<usize> = (0..grammar.rules.len()).collect();
    let (_, left) = visit(grammar, &|index| leftmost(&grammar.rules[index], &nullable), &all);
    if left {
      return Err(invalid("a rule refers to itself before it reads anything (left recursion)"));
    }
    Ok(Self { reached, nullable, recursive })
  }
}

/// The rules that are reached from `from`, and whether one of them reaches itself.
fn visit(grammar: &Gbnf, next: &dyn Fn(usize) -> Vec<usize>, from: &[usize]) -> (Vec<bool>, bool) {
  #[derive(Clone, Copy, PartialEq)]
  enum Mark {
    New,
    Open,
    Done,
  }
  let mut marks = vec![Mark::New; grammar.rules.len()];
  let mut cycle = false;
  for &start in from {
    // Depth first without recursion of ours: a grammar may be a chain of many thousand rules.
    let mut stack = vec![(start, next(start))];
    if marks[start] != Mark::New {
      continue;
    }
    marks[start] = Mark::Open;
    while let Some((index, open)) = stack.last_mut() {
      match open.pop() {
        Some(child) if marks[child] == Mark::New => {
          marks[child] = Mark::Open;
          stack.push((child, next(child)));
        }
        Some(child) => cycle |= marks[child] == Mark::Open,
        None => {
          marks[*index] = Mark::Done;
          stack.pop();
        }
      }
    }
  }
  (marks.into_iter().map(|mark| mark != Mark::New).collect(), cycle)
}

fn references(alternatives: &[Sequence]) -> Vec<usize> {
  let mut found = Vec::new();
  for element in alternatives.iter().flatten() {
    match &element.item {
      Item::Rule(index) => found.push(*index),
      Item::Group(inner) => found.extend(references(inner)),
      _ => {}
    }
  }
  found
}

/// Rules that may begin at the first character.
fn leftmost(alternatives: &[Sequence], nullable: &[bool]) -> Vec<usize> {
  let mut found = Vec::new();
  for sequence in alternatives {
    for element in sequence {
      match &element.item {
        Item::Rule(index) => found.push(*index),
        Item::Group(inner) => found.extend(leftmost(inner, nullable)),
        _ => {}
      }
      if !may_be_empty(element, nullable) {
        break;
      }
    }
  }
  found
}

fn nullable(grammar: &Gbnf) -> Vec<bool> {
  let mut nullable = vec![false; grammar.rules.len()];
  loop {
    let mut changed = false;
    for (index, alternatives) in grammar.rules.iter().enumerate() {
      if !nullable[index] && any_empty(alternatives, &nullable) {
        nullable[index] = true;
        changed = true;
      }
    }
    if !changed {
      return nullable;
    }
  }
}

fn any_empty(alternatives: &[Sequence], nullable: &[bool]) -> bool {
  alternatives.iter().any(|sequence| sequence.iter().all(|element| may_be_empty(element, nullable)))
}

fn may_be_empty(element: &Element, nullable: &[bool]) -> bool {
  element.least == 0
    || match &element.item {
      Item::Literal(text) => text.is_empty(),
      Item::Rule(index) => nullable[*index],
      Item::Group(inner) => any_empty(inner, nullable),
      Item::Class { .. } | Item::Token { .. } => false,
    }
}
