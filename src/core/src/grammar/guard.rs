//! When a constraint applies: not to reasoning, and a lazy one only from its trigger on.

use super::constraint::{Constraint, ConstraintOptions};
use super::mask::TokenMask;
use super::spans::Spans;
use super::trigger::Search;
use crate::error::Result;
use crate::text::ReasoningTags;
use crate::token::Token;

/// Line ends that may follow a reasoning block before the answer begins.
const BLANKS: u32 = 4;

/// Where in the output a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
  /// Nothing was generated: the model may begin to reason or to answer.
  Lead,
  /// The tag that opens a reasoning block has begun.
  Opening,
  Reasoning,
  /// A reasoning block has ended.
  After,
  /// The answer is free until a trigger.
  Searching,
  /// The answer follows the constraint.
  Following,
}

/// Whose choice the next token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
  Allowed,
  Refused,
}

/// The constraint of one request.
pub(crate) struct Guard {
  constraint: Box<dyn Constraint>,
  spans: Spans,
  search: Option<Search>,
  start: String,
  end: Option<String>,
  phase: Phase,
  /// What was generated of the tag that opens a reasoning block.
  opened: String,
  blanks: u32,
}

impl Guard {
  pub(crate) fn new(
    constraint: Box<dyn Constraint>,
    options: &ConstraintOptions,
    reasoning: Option<&ReasoningTags>,
  ) -> Result<Self> {
    let search = if options.triggers.is_empty() { None } else { Some(Search::new(&options.triggers)?) };
    let mut guard = Self {
      constraint,
      spans: Spans::new(options.spans.clone()),
      search,
      start: reasoning.map(|tags| tags.start.clone()).unwrap_or_default(),
      end: reasoning.and_then(|tags| tags.ends.iter().find(|end| !end.is_empty()).cloned()),
      phase: Phase::Lead,
      opened: String::new(),
      blanks: 0,
    };
    if let Some(prefix) = &options.prefix {
      guard.constraint.accept_text(prefix)?;
      guard.spans.feed(prefix.as_bytes());
      guard.phase = Phase::Following;
    } else if reasoning.is_some_and(|tags| tags.open) {
      guard.phase = Phase::Reasoning;
    } else if guard.search.is_some() {
      guard.phase = Phase::Searching;
    } else if guard.start.is_empty() {
      guard.phase = Phase::Following;
    }
    Ok(guard)
  }

  /// Judges the token that the model would like next. `ended`: it ends the generation; `piece`: its text.
  pub(crate) fn judge(&mut self, token: Token, ended: bool, piece: &[u8]) -> Result<Verdict> {
    let allowed = match self.phase {
      Phase::Reasoning if ended => self.end_of_reasoning().is_empty(),
      Phase::Opening | Phase::Reasoning | Phase::Searching => true,
      Phase::Lead if self.opens(piece) => true,
      Phase::After if self.blanks < BLANKS && is_blank(piece) && !ended => true,
      Phase::Lead | Phase::After | Phase::Following if ended => self.constraint.can_end(),
      Phase::Lead | Phase::After | Phase::Following => self.constraint.allows(token)?,
    };
    Ok(if allowed { Verdict::Allowed } else { Verdict::Refused })
  }

  /// Whether the next token is to be the likeliest, however the request is sampled.
  pub(crate) fn greedy(&self) -> bool {
    matches!(self.phase, Phase::Lead | Phase::After | Phase::Following) && self.spans.greedy()
  }

  /// What may come instead of a refused token.
  pub(crate) fn mask(&mut self) -> Result<TokenMask> {
    self.constraint.mask()
  }

  /// Takes a token that was judged.
  pub(crate) fn accept(&mut self, token: Token, ended: bool, piece: &[u8]) -> Result<()> {
    match self.phase {
      _ if ended => {}
      Phase::Lead if self.opens(piece) => {
        self.phase = Phase::Opening;
        self.opened = String::from_utf8_lossy(piece).into_owned();
      }
      Phase::After if self.blanks < BLANKS && is_blank(piece) => self.blanks += 1,
      Phase::Lead | Phase::After | Phase::Following => {
        self.phase = Phase::Following;
        self.spans.feed(piece);
        self.constraint.accept(token)?;
      }
      Phase::Opening => self.opened.push_str(&String::from_utf8_lossy(piece)),
      Phase::Reasoning => {}
      Phase::Searching => {
        let found = self.search.as_mut().and_then(|search| search.push(&String::from_utf8_lossy(piece)));
        if let Some(text) = found {
          self.constraint.accept_text(&text)?;
          self.phase = Phase::Following;
        }
      }
    }
    Ok(())
  }

  /// Follows the text stages, which know where reasoning ends.
  pub(crate) fn observe(&mut self, in_reasoning: bool) {
    self.phase = match self.phase {
      Phase::Lead | Phase::Opening | Phase::Searching if in_reasoning => Phase::Reasoning,
      Phase::Reasoning if !in_reasoning && self.search.is_some() => Phase::Searching,
      Phase::Reasoning if !in_reasoning => Phase::After,
      phase => phase,
    };
  }

  /// Tokens that must come first, known before anything is evaluated.
  pub(crate) fn forced_first(&mut self) -> Vec<Token> {
    if self.phase == Phase::Following && self.search.is_none() {
      self.constraint.forced()
    } else {
      Vec::new()
    }
  }

  /// Tokens that must come next.
  pub(crate) fn forced(&mut self) -> Vec<Token> {
    match self.phase {
      Phase::Following => self.constraint.forced(),
      Phase::Opening => {
        let rest = self.start.get(self.opened.len()..).unwrap_or_default();
        if rest.is_empty() { Vec::new() } else { self.constraint.tokens(rest.as_bytes()) }
      }
      _ => Vec::new(),
    }
  }

  /// Tokens that end the reasoning block the output is in.
  pub(crate) fn end_of_reasoning(&self) -> Vec<Token> {
    match (&self.end, self.phase) {
      (Some(end), Phase::Reasoning) if self.search.is_none() => self.constraint.tokens(end.as_bytes()),
      _ => Vec::new(),
    }
  }

  /// Tokens that end what the model is in the middle of and wants to end: the reasoning, the innermost part of an answer.
  pub(crate) fn ending(&mut self) -> Vec<Token> {
    match self.phase {
      Phase::Following => {
        self.constraint.ending().map(|text| self.constraint.tokens(&text)).unwrap_or_default()
      }
      _ => self.end_of_reasoning(),
    }
  }

  /// Whether a stop string may end the answer, which then lacks its last `tail` bytes.
  pub(crate) fn can_end_before(&mut self, tail: usize) -> bool {
    match self.phase {
      Phase::Following => self.constraint.matches_without(tail),
      Phase::Searching => true,
      _ => false,
    }
  }

  pub(crate) fn is_complete(&self) -> bool {
    self.phase == Phase::Following && self.constraint.is_complete()
  }

  /// Bytes that make the answer match, and the tokens they take; none while the answer is free.
  pub(crate) fn closing(&mut self) -> Option<(Vec<u8>, usize)> {
    match self.phase {
      Phase::Lead | Phase::After | Phase::Following => {
        let text = self.constraint.closing()?;
        let tokens = self.constraint.tokens(&text).len();
        Some((text, tokens))
      }
      _ => None,
    }
  }

  /// Whether `piece` begins the tag that opens a reasoning block, by enough not to be anything else.
  fn opens(&self, piece: &[u8]) -> bool {
    !self.start.is_empty() && self.start.as_bytes().starts_with(piece) && piece.len() * 2 >= self.start.len()
  }
}

fn is_blank(piece: &[u8]) -> bool {
  !piece.is_empty() && piece.iter().all(|byte| matches!(byte, b'\n' | b'\r' | b' ' | b'\t'))
}
