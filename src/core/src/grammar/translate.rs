//! GBNF as the engine's own notation.
//!
//! GBNF knows characters only, the engine splits text into the longest lexemes first. Where nothing recurs, the whole
//! grammar is one regular expression and so one lexeme, which is exact and fast. Otherwise each character is a lexeme of
//! its own: of such no one is the beginning of another, so that the split changes nothing.

mod facts;

use std::fmt::Write as _;

use super::error::invalid;
use super::gbnf::{Element, Gbnf, Item, Sequence, TokenName};
use crate::error::Result;
use crate::token::Token;
use facts::Facts;

/// Most elements of a grammar once its repetitions are written out.
const MAX_SIZE: usize = 200_000;

/// Finds the single token with this text, control tokens included.
pub(super) type TokenByText<'a> = &'a dyn Fn(&str) -> Option<Token>;

/// `grammar` in Lark notation. Literals that contain one of `specials` match that token there, not its characters.
///
/// # Errors
/// `GRAMMAR_INVALID`: left recursion, an unknown token, too large.
pub(super) fn to_lark(grammar: &Gbnf, specials: &[(String, Token)], token: TokenByText) -> Result<String> {
  let facts = Facts::of(grammar)?;
  let mut writer = Writer { grammar, specials, token, out: String::new(), size: 0, regular: false };
  writer.regular = !facts.recursive && !writer.has_tokens();
  for (index, alternatives) in grammar.rules.iter().enumerate() {
    if facts.reached[index] {
      let name = writer.name(index);
      let _ = write!(writer.out, "{name}: ");
      writer.alternatives(alternatives)?;
      writer.out.push('\n');
    }
  }
  let root = writer.name(grammar.root);
  // A lexeme is never empty: that the whole text may be is said beside it.
  let empty = if writer.regular && facts.nullable[grammar.root] { " | \"\"" } else { "" };
  Ok(format!("start: {root}{empty}\n{}", writer.out))
}

struct Writer<'a> {
  grammar: &'a Gbnf,
  specials: &'a [(String, Token)],
  token: TokenByText<'a>,
  out: String,
  size: usize,
  /// Rules are written as terminals.
  regular: bool,
}

impl Writer<'_> {
  fn name(&self, index: usize) -> String {
    if self.regular { format!("R{index}") } else { format!("r{index}") }
  }

  fn has_tokens(&self) -> bool {
    self.grammar.rules.iter().any(|alternatives| self.names_token(alternatives))
  }

  fn names_token(&self, alternatives: &[Sequence]) -> bool {
    alternatives.iter().flatten().any(|element| match &element.item {
      Item::Token { .. } => true,
      Item::Literal(text) => self.specials.iter().any(|(special, _)| text.contains(special.as_str())),
      Item::Group(inner) => self.names_token(inner),
      _ => false,
    })
  }

  fn alternatives(&mut self, alternatives: &[Sequence]) -> Result<()> {
    for (number, sequence) in alternatives.iter().enumerate() {
      if number > 0 {
        self.out.push_str(" | ");
      }
      if sequence.is_empty() {
        self.out.push_str("\"\"");
      }
      for element in sequence {
        self.element(element)?;
        self.out.push(' ');
      }
    }
    Ok(())
  }

  fn element(&mut self, element: &Element) -> Result<()> {
    self.size += 1;
    if self.size > MAX_SIZE {
      return Err(invalid(format!("it has more than {MAX_SIZE} elements")));
    }
    match &element.item {
      Item::Literal(text) => self.literal(text),
      Item::Class { negated, ranges } => self.class(*negated, ranges),
      Item::Token { negated, name } => self.token(*negated, name)?,
      Item::Rule(index) => {
        let name = self.name(*index);
        self.out.push_str(&name);
      }
      Item::Group(inner) => {
        self.out.push('(');
        self.alternatives(inner)?;
        self.out.push(')');
      }
    }
    match (element.least, element.most) {
      (1, Some(1)) => {}
      (0, None) => self.out.push('*'),
      (1, None) => self.out.push('+'),
      (0, Some(1)) => self.out.push('?'),
      (least, None) => {
        let _ = write!(self.out, "{{{least},}}");
      }
      (least, Some(most)) => {
        let _ = write!(self.out, "{{{least},{most}}}");
      }
    }
    Ok(())
  }

  fn literal(&mut self, text: &str) {
    if self.regular {
      self.out.push_str(&quoted(text));
      return;
    }
    // In parentheses, so that a repetition is of all of it.
    self.out.push('(');
    let mut rest = text;
    if rest.is_empty() {
      self.out.push_str("\"\"");
    }
    while !rest.is_empty() {
      let special = self.specials.iter().filter(|(special, _)| rest.starts_with(special.as_str()));
      if let Some((special, token)) = special.max_by_key(|(special, _)| special.len()) {
        let _ = write!(self.out, "<[{token}]> ");
        rest = &rest[special.len()..];
      } else {
        let length = rest.chars().next().map_or(0, char::len_utf8);
        self.out.push_str(&quoted(&rest[..length]));
        self.out.push(' ');
        rest = &rest[length..];
      }
    }
    self.out.push(')');
  }

  fn class(&mut self, negated: bool, ranges: &[(char, char)]) {
    match (negated, ranges) {
      (true, []) => self.out.push_str("/(?s:.)/"),
      // Nothing at all.
      (false, []) => self.out.push_str("/[^\\x{0}-\\x{10FFFF}]/"),
      _ => {
        self.out.push_str(if negated { "/[^" } else { "/[" });
        for (low, high) in ranges {
          let _ = write!(self.out, "\\x{{{:X}}}-\\x{{{:X}}}", u32::from(*low), u32::from(*high));
        }
        self.out.push_str("]/");
      }
    }
  }

  fn token(&mut self, negated: bool, name: &TokenName) -> Result<()> {
    let number = match name {
      TokenName::Number(number) => *number,
      TokenName::Text(text) => (self.token)(text)
        .and_then(|token| u32::try_from(token).ok())
        .ok_or_else(|| invalid(format!("{text} is not a token of the model")))?,
    };
    let _ = if negated { write!(self.out, "<[^{number}]>") } else { write!(self.out, "<[{number}]>") };
    Ok(())
  }
}

/// A literal in Lark notation.
pub(super) fn quoted(text: &str) -> String {
  let mut out = String::from("\"");
  for character in text.chars() {
    match character {
      '"' | '\\' => {
        out.push('\\');
        out.push(character);
      }
      '\0'..='\x1f' | '\x7f' => {
        let _ = write!(out, "\\u{:04x}", u32::from(character));
      }
      _ => out.push(character),
    }
  }
  out.push('"');
  out
}

/// Literals of a grammar that may end a part of it, the longest first.
pub(super) fn literals(grammar: &Gbnf) -> Vec<String> {
  const MOST: usize = 48;
  fn collect(alternatives: &[Sequence], found: &mut Vec<String>) {
    for element in alternatives.iter().flatten() {
      match &element.item {
        Item::Literal(text) if text.len() > 1 => found.push(text.clone()),
        Item::Group(inner) => collect(inner, found),
        _ => {}
      }
    }
  }
  let mut found = Vec::new();
  grammar.rules.iter().for_each(|alternatives| collect(alternatives, &mut found));
  found.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
  found.dedup();
  found.truncate(MOST);
  found
}
