//! Where in a text of given and chosen stretches an answer is: some of what is chosen is to be the model's likeliest.

use super::constraint::Span;

/// Follows an answer through its spans. Where it leaves them, nothing is known of it any more.
pub(super) struct Spans {
  all: Vec<Span>,
  /// The span that the answer is in; past the last one, or lost, as many as there are.
  at: usize,
  /// Bytes of a literal that were read.
  read: usize,
  value: Value,
}

/// How far a JSON value was read.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Value {
  begun: bool,
  depth: u32,
  in_string: bool,
  escaped: bool,
}

enum Progress {
  /// More may follow.
  Inside,
  /// The byte was the value's last one.
  Ended,
  /// The value ended before the byte.
  Over,
}

impl Spans {
  pub(super) fn new(spans: Vec<Span>) -> Self {
    Self { all: spans, at: 0, read: 0, value: Value::default() }
  }

  /// Whether the next choice is to be the likeliest. In a literal nothing is chosen but how the value after it begins:
  /// a token may hold the end of the one and the beginning of the other.
  pub(super) fn greedy(&self) -> bool {
    let rest = self.all.get(self.at..).unwrap_or_default();
    rest.iter().find_map(|span| if let Span::Value { greedy } = span { Some(*greedy) } else { None })
      == Some(true)
  }

  /// Takes what was generated.
  pub(super) fn feed(&mut self, text: &[u8]) {
    for &byte in text {
      while !self.take(byte) {}
    }
  }

  /// Takes a byte; false when it belongs to the next span.
  fn take(&mut self, byte: u8) -> bool {
    match self.all.get(self.at) {
      None => true,
      Some(Span::Literal(text)) => {
        let rest = text.as_bytes().get(self.read..).unwrap_or_default();
        match rest.first() {
          None => self.next(),
          Some(&next) if next == byte => {
            self.read += 1;
            if rest.len() == 1 {
              self.next();
            }
            return true;
          }
          Some(_) => self.at = self.all.len(),
        }
        false
      }
      Some(Span::Value { .. }) => {
        let progress = self.value.take(byte);
        if !matches!(progress, Progress::Inside) {
          self.next();
        }
        !matches!(progress, Progress::Over)
      }
    }
  }

  fn next(&mut self) {
    (self.at, self.read, self.value) = (self.at + 1, 0, Value::default());
  }
}

impl Value {
  fn take(&mut self, byte: u8) -> Progress {
    if self.in_string {
      self.in_string = self.escaped || byte != b'"';
      self.escaped = !self.escaped && byte == b'\\';
      return if self.in_string || self.depth > 0 { Progress::Inside } else { Progress::Ended };
    }
    let is_blank = byte.is_ascii_whitespace();
    let scalar = byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let continues = scalar || self.depth > 0 || (is_blank && !self.begun);
    let first = !self.begun;
    self.begun |= !is_blank;
    match byte {
      b'"' if first || self.depth > 0 => self.in_string = true,
      b'{' | b'[' if first || self.depth > 0 => self.depth += 1,
      b'}' | b']' if self.depth > 0 => {
        self.depth -= 1;
        return if self.depth == 0 { Progress::Ended } else { Progress::Inside };
      }
      _ if !continues => return Progress::Over,
      _ => {}
    }
    Progress::Inside
  }
}

#[cfg(test)]
mod tests {
  use super::{Span, Spans};

  fn spans() -> Spans {
    let literal = |text: &str| Span::Literal(text.to_owned());
    let value = |greedy| Span::Value { greedy };
    Spans::new(vec![
      literal("{\"a\":"),
      value(true),
      literal(",\"b\":"),
      value(false),
      literal(",\"n\":"),
      value(true),
      literal("}"),
    ])
  }

  /// For each byte whether it was a greedy choice, `^` or `.`.
  fn marked(text: &str) -> String {
    let mut spans = spans();
    let mark = |byte: u8| {
      let greedy = spans.greedy();
      spans.feed(&[byte]);
      if greedy { '^' } else { '.' }
    };
    text.bytes().map(mark).collect()
  }

  #[test]
  fn a_choice_belongs_to_the_value_that_it_is_in_or_before() {
    // The end of a number is chosen, too.
    for (text, marks) in [
      (r#"{"a":"yes","b":"x\"},","n":-1.5e3}"#, "^^^^^^^^^^............^^^^^^^^^^^^"),
      (r#"{"a":true,"b":{"c":["]}"]},"n":12}"#, "^^^^^^^^^^................^^^^^^^^"),
      (r#"{"a":1,"b":[{}],"n":2}"#, "^^^^^^^........^^^^^^^"),
    ] {
      assert_eq!(marked(text), marks, "{text}");
    }
  }

  #[test]
  fn a_piece_may_hold_several_spans() {
    let mut spans = spans();
    spans.feed(br#"{"a":"y"#);
    assert!(spans.greedy());
    spans.feed(br#"es","b":{"x":"#);
    assert!(!spans.greedy());
    spans.feed(br#"1},"n""#);
    assert!(spans.greedy());
    spans.feed(b":1}");
    assert!(!spans.greedy());
  }

  #[test]
  fn an_answer_that_leaves_the_spans_is_sampled_as_the_request_says() {
    assert_eq!(marked(r#"{"b":"x"}"#), "^^^......");
    assert_eq!(marked(""), "");
  }
}
