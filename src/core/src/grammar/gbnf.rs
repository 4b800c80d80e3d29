//! GBNF, the notation of llama.cpp's grammars, read into a tree.

mod measure;
mod syntax;
mod terminals;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::error::invalid;
use crate::error::Result;
pub(super) use syntax::{Element, Gbnf, Item, Sequence, TokenName};

/// Deepest nesting of groups.
const MAX_DEPTH: usize = 100;
/// Most repetitions with a bound; llama.cpp has the same limit.
const MAX_REPETITION: u32 = 2_000;

/// Reads `source`.
///
/// # Errors
/// `GRAMMAR_INVALID` with the line, for everything that llama.cpp refuses too.
pub(super) fn parse(source: &str) -> Result<Gbnf> {
  let mut parser = Parser { rest: source, line: 1, names: HashMap::new(), rules: Vec::new(), depth: 0 };
  parser.blank(true);
  while !parser.rest.is_empty() {
    parser.rule()?;
    parser.blank(true);
  }
  let Parser { names, rules, .. } = parser;
  let root = *names.get("root").ok_or_else(|| invalid("it has no rule named root"))?;
  let missing =
    names.iter().filter(|(_, index)| rules[**index].is_none()).map(|(name, _)| name.as_str()).min();
  if let Some(name) = missing {
    return Err(invalid(format!("the rule {name} is used and not defined")));
  }
  let rules: Vec<Vec<Sequence>> = rules.into_iter().map(Option::unwrap_or_default).collect();
  measure::check(&rules)?;
  Ok(Gbnf { rules, root })
}

struct Parser<'a> {
  rest: &'a str,
  line: usize,
  names: HashMap<String, usize>,
  rules: Vec<Option<Vec<Sequence>>>,
  depth: usize,
}

impl<'a> Parser<'a> {
  fn fail<T>(&self, expected: &str) -> Result<T> {
    let found: String = self.rest.chars().take(12).collect();
    let found = if found.is_empty() { "the end".to_owned() } else { format!("{found:?}") };
    Err(invalid(format!("line {}: expected {expected}, found {found}", self.line)))
  }

  /// Skips blanks and comments, and line ends where they mean nothing.
  fn blank(&mut self, lines: bool) {
    while let Some(next) = self.rest.chars().next() {
      match next {
        ' ' | '\t' => self.skip(1),
        '\n' | '\r' if lines => self.skip(1),
        '#' => self.skip(self.rest.find(['\n', '\r']).unwrap_or(self.rest.len())),
        _ => break,
      }
    }
  }

  fn skip(&mut self, bytes: usize) {
    self.line += self.rest[..bytes].matches('\n').count();
    self.rest = &self.rest[bytes..];
  }

  fn eat(&mut self, text: &str) -> bool {
    let found = self.rest.starts_with(text);
    if found {
      self.skip(text.len());
    }
    found
  }

  fn word(&mut self) -> Option<&'a str> {
    let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    let (word, _) = self.rest.split_at(end.unwrap_or(self.rest.len()));
    self.skip(word.len());
    Some(word).filter(|word| !word.is_empty())
  }

  fn index(&mut self, name: &str) -> usize {
    if let Some(&index) = self.names.get(name) {
      return index;
    }
    let index = self.rules.len();
    self.names.insert(name.to_owned(), index);
    self.rules.push(None);
    index
  }

  fn rule(&mut self) -> Result<()> {
    let Some(name) = self.word() else { return self.fail("the name of a rule") };
    let index = self.index(name);
    self.blank(false);
    if !self.eat("::=") {
      return self.fail("::=");
    }
    self.blank(true);
    let alternatives = self.alternatives(false)?;
    if !self.rest.is_empty() && !self.rest.starts_with(['\n', '\r']) {
      return self.fail("the end of the line");
    }
    // The last definition of a name counts, as in llama.cpp.
    self.rules[index] = Some(alternatives);
    Ok(())
  }

  fn alternatives(&mut self, nested: bool) -> Result<Vec<Sequence>> {
    let mut alternatives = vec![self.sequence(nested)?];
    while self.eat("|") {
      self.blank(true);
      alternatives.push(self.sequence(nested)?);
    }
    Ok(alternatives)
  }

  fn sequence(&mut self, nested: bool) -> Result<Sequence> {
    let mut sequence: Sequence = Vec::new();
    loop {
      if let Some((least, most)) = self.repetition(nested)? {
        match sequence.last_mut() {
          Some(last) if last.least == 1 && last.most == Some(1) => (last.least, last.most) = (least, most),
          Some(last) => {
            let inner = std::mem::replace(last, Element { item: Item::Group(Vec::new()), least, most });
            last.item = Item::Group(vec![vec![inner]]);
          }
          None => return self.fail("something to repeat"),
        }
      } else if let Some(item) = self.item()? {
        sequence.push(Element { item, least: 1, most: Some(1) });
      } else {
        return Ok(sequence);
      }
      self.blank(nested);
    }
  }

  fn repetition(&mut self, nested: bool) -> Result<Option<(u32, Option<u32>)>> {
    if self.eat("*") {
      return Ok(Some((0, None)));
    }
    if self.eat("+") {
      return Ok(Some((1, None)));
    }
    if self.eat("?") {
      return Ok(Some((0, Some(1))));
    }
    if !self.eat("{") {
      return Ok(None);
    }
    self.blank(nested);
    let least = self.number()?;
    self.blank(nested);
    let mut most = Some(least);
    if self.eat(",") {
      self.blank(nested);
      let bounded = self.rest.starts_with(|c: char| c.is_ascii_digit());
      most = if bounded { Some(self.number()?) } else { None };
      self.blank(nested);
    }
    if !self.eat("}") {
      return self.fail("}");
    }
    // A bound beyond the limit is as good as none, as in llama.cpp.
    let most = most.filter(|&most| most <= MAX_REPETITION);
    if least > MAX_REPETITION || most.is_some_and(|most| most < least) {
      return Err(invalid(format!(
        "line {}: a repetition must be at most {MAX_REPETITION} and its bounds in order",
        self.line
      )));
    }
    Ok(Some((least, most)))
  }

  fn number(&mut self) -> Result<u32> {
    let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
    let Ok(number) = self.rest[..end].parse() else { return self.fail("a number") };
    self.skip(end);
    Ok(number)
  }

  fn item(&mut self) -> Result<Option<Item>> {
    let Some(next) = self.rest.chars().next() else { return Ok(None) };
    Ok(Some(match next {
      '"' => self.literal()?,
      '[' => self.class()?,
      '.' => {
        self.skip(1);
        Item::Class { negated: true, ranges: Vec::new() }
      }
      '<' | '!' => self.token()?,
      '(' => self.group()?,
      _ => match self.word() {
        Some(name) => Item::Rule(self.index(name)),
        None => return Ok(None),
      },
    }))
  }

  fn group(&mut self) -> Result<Item> {
    self.depth += 1;
    if self.depth > MAX_DEPTH {
      return Err(invalid(format!("line {}: groups nest deeper than {MAX_DEPTH}", self.line)));
    }
    self.skip(1);
    self.blank(true);
    let alternatives = self.alternatives(true)?;
    if !self.eat(")") {
      return self.fail(")");
    }
    self.depth -= 1;
    Ok(Item::Group(alternatives))
  }
}
