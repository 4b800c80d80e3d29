//! Literals, classes and tokens.

use super::super::error::invalid;
use super::Parser;
use super::syntax::{Item, TokenName};
use crate::error::Result;

impl Parser<'_> {
  pub(super) fn literal(&mut self) -> Result<Item> {
    self.skip(1);
    let mut text = String::new();
    while !self.eat("\"") {
      text.push(self.character()?);
    }
    Ok(Item::Literal(text))
  }

  pub(super) fn class(&mut self) -> Result<Item> {
    self.skip(1);
    let negated = self.eat("^");
    let mut ranges = Vec::new();
    while !self.eat("]") {
      let low = self.character()?;
      let range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
      let high = if range {
        self.skip(1);
        self.character()?
      } else {
        low
      };
      if high < low {
        return Err(invalid(format!("line {}: the range {low:?} to {high:?} is empty", self.line)));
      }
      ranges.push((low, high));
    }
    Ok(Item::Class { negated, ranges })
  }

  pub(super) fn token(&mut self) -> Result<Item> {
    let negated = self.eat("!");
    let Some(end) = self.rest.find('>').filter(|_| self.rest.starts_with('<')) else {
      return self.fail("a token in <>");
    };
    let text = &self.rest[..=end];
    let number = text.strip_prefix("<[").and_then(|text| text.strip_suffix("]>"));
    let name = match number.map(str::parse) {
      Some(Ok(number)) => TokenName::Number(number),
      Some(Err(_)) => return self.fail("the number of a token"),
      None => TokenName::Text(text.to_owned()),
    };
    self.skip(end + 1);
    Ok(Item::Token { negated, name })
  }

  /// One character of a literal or a class.
  fn character(&mut self) -> Result<char> {
    let Some(next) = self.rest.chars().next() else { return self.fail("the end of a literal or class") };
    if next != '\\' {
      self.skip(next.len_utf8());
      return Ok(next);
    }
    let Some(escape) = self.rest[1..].chars().next() else { return self.fail("an escape") };
    let digits = match escape {
      'x' => 2,
      'u' => 4,
      'U' => 8,
      _ => {
        let plain = match escape {
          't' => '\t',
          'r' => '\r',
          'n' => '\n',
          '\\' | '"' | '[' | ']' | '-' => escape,
          _ => return self.fail("a known escape"),
        };
        self.skip(2);
        return Ok(plain);
      }
    };
    let number = self.rest.get(2..2 + digits).and_then(|text| u32::from_str_radix(text, 16).ok());
    let Some(character) = number.and_then(char::from_u32) else { return self.fail("a character's number") };
    self.skip(2 + digits);
    Ok(character)
  }
}
