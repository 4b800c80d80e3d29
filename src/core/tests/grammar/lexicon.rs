//! A vocabulary of all bytes and some words, and texts followed through a constraint.

use std::sync::OnceLock;

use local_inference_core::decoder::Token;
use local_inference_core::error::{ErrorCode, Result};
use local_inference_core::grammar::{Constraint, ConstraintSource, GrammarEngine, Lexicon};

const WORDS: [&str; 13] =
  ["\"name\"", "{\"", "\": ", "true", "false", "null", "hello", " world", "</", "text>", "ab", "12", "  "];
/// A control token, and the end.
pub(crate) const CALL: Token = 256 + 13;
pub(crate) const END: Token = CALL + 1;

pub(crate) fn engine() -> &'static GrammarEngine {
  static ENGINE: OnceLock<GrammarEngine> = OnceLock::new();
  ENGINE.get_or_init(|| {
    let mut words: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    words.extend(WORDS.iter().map(|word| word.as_bytes().to_vec()));
    words.push(b"<call>".to_vec());
    words.push(Vec::new());
    let lexicon = Lexicon {
      words,
      control: vec![CALL],
      ends: vec![END],
      tokenize: Box::new(|text| tokens(text.as_bytes())),
    };
    GrammarEngine::new(lexicon).expect("the vocabulary is a good one")
  })
}

/// The longest words from the left.
pub(crate) fn tokens(mut bytes: &[u8]) -> Vec<Token> {
  let mut tokens = Vec::new();
  while let Some(&first) = bytes.first() {
    let longest = WORDS.iter().enumerate().filter(|(_, word)| bytes.starts_with(word.as_bytes()));
    let (token, length) =
      longest.max_by_key(|(_, word)| word.len()).map_or((Token::from(first), 1), |(index, word)| {
        (Token::try_from(256 + index).expect("few words"), word.len())
      });
    tokens.push(token);
    bytes = &bytes[length..];
  }
  tokens
}

pub(crate) fn gbnf(text: &str) -> ConstraintSource {
  ConstraintSource::Gbnf(text.to_owned())
}

pub(crate) fn schema(text: &str) -> ConstraintSource {
  ConstraintSource::Schema(text.to_owned())
}

pub(crate) fn parts(text: &str) -> ConstraintSource {
  ConstraintSource::Parts(text.to_owned())
}

#[track_caller]
pub(crate) fn start(source: &ConstraintSource) -> Box<dyn Constraint> {
  engine().start(source, &[]).expect("the source is a good one")
}

/// Follows `text`; whether every token of it is admitted.
pub(crate) fn follow(constraint: &mut dyn Constraint, text: &str) -> Result<bool> {
  for token in tokens(text.as_bytes()) {
    if !constraint.allows(token)? {
      return Ok(false);
    }
    constraint.accept(token)?;
  }
  Ok(true)
}

/// Whether `text` as a whole matches.
#[track_caller]
pub(crate) fn matches(source: &ConstraintSource, text: &str) -> bool {
  let mut constraint = start(source);
  follow(&mut *constraint, text).expect("the text can be followed") && constraint.can_end()
}

#[track_caller]
pub(crate) fn refused(source: &ConstraintSource) -> String {
  let error = engine().compile(source, &[]).err().expect("the source is refused");
  assert_eq!(error.code(), ErrorCode::GrammarInvalid, "{error}");
  error.to_string()
}

/// The closing after `text`, which must make it match.
#[track_caller]
pub(crate) fn closed(source: &ConstraintSource, text: &str) -> String {
  let mut constraint = start(source);
  assert!(follow(&mut *constraint, text).expect("the text can be followed"), "{text} is admitted");
  let closing = constraint.closing().unwrap_or_else(|| panic!("{text} has a closing"));
  let closing = String::from_utf8(closing).expect("a closing is text");
  assert!(matches(source, &format!("{text}{closing}")), "{text} + {closing}");
  closing
}
