//! The fake's language model: a vocabulary, and a next token that depends on every token before it.

use std::sync::OnceLock;

use local_inference_core::decoder::Token;
use local_inference_core::grammar::{GrammarEngine, Lexicon};

/// Ends a generation.
pub(crate) const END: Token = 0;

/// Text of each token. Characters are cut between tokens, one token has no text, tags come whole and in two halves.
const PIECES: &[&[u8]] = &[
  b"",
  b"a",
  b"b",
  b"ab",
  b" ",
  b"\n",
  b"\xc3",
  b"\xa9",
  b"\xf0\x9f",
  b"\xa6\x80",
  "é".as_bytes(),
  b"",
  b"<t>",
  b"</t>",
  b"</",
  b"t>",
  b"STOP",
  b"ST",
  b"OP",
];

/// Number of tokens.
pub(crate) const VOCABULARY: Token = 19;

/// The text bytes of `token`.
pub(crate) fn piece(token: Token) -> &'static [u8] {
  PIECES[usize::try_from(token).expect("a token of the vocabulary")]
}

/// The token whose text is `text`.
pub(crate) fn token(text: &str) -> Token {
  let index = PIECES.iter().position(|piece| *piece == text.as_bytes());
  Token::try_from(index.expect("a text of the vocabulary")).expect("a small vocabulary")
}

/// The tokens of several texts.
pub(crate) fn tokens(texts: &[&str]) -> Vec<Token> {
  texts.iter().map(|text| token(text)).collect()
}

/// What follows `history` with `seed`. Any other, missing or moved token before changes it.
pub(crate) fn next(history: &[Token], seed: u32, ban_end: bool) -> Token {
  let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ u64::from(seed);
  for &token in history {
    hash = (hash ^ u64::from(token.unsigned_abs())).wrapping_mul(0x0100_0000_01b3);
    hash ^= hash >> 29;
  }
  // The end is as likely as in a text of some forty tokens.
  let drawn = (hash >> 7) % 40;
  if drawn == 0 && !ban_end {
    return END;
  }
  1 + Token::try_from((hash >> 13) % (u64::from(VOCABULARY.unsigned_abs()) - 1)).expect("a small vocabulary")
}

/// Grammars over this vocabulary. The longest piece from the left is how this model spells a text.
pub(crate) fn grammars() -> &'static GrammarEngine {
  static ENGINE: OnceLock<GrammarEngine> = OnceLock::new();
  ENGINE.get_or_init(|| {
    let words = PIECES.iter().map(|piece| piece.to_vec()).collect();
    let tokenize = |text: &str| {
      let (mut tokens, mut rest) = (Vec::new(), text.as_bytes());
      while !rest.is_empty() {
        let longest = (1..VOCABULARY)
          .filter(|&token| !piece(token).is_empty() && rest.starts_with(piece(token)))
          .max_by_key(|&token| piece(token).len());
        let Some(token) = longest else { break };
        tokens.push(token);
        rest = &rest[piece(token).len()..];
      }
      tokens
    };
    let lexicon = Lexicon { words, control: Vec::new(), ends: vec![END], tokenize: Box::new(tokenize) };
    GrammarEngine::new(lexicon).expect("the vocabulary is a good one")
  })
}
