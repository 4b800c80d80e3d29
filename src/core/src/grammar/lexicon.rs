//! A model's vocabulary as the grammar engine needs it.

use std::sync::Arc;

use llguidance::toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use crate::token::Token;

/// Tokens of a text, as the model's own tokeniser writes it inside a longer one (without begin token or added space).
pub type Tokenize = Box<dyn Fn(&str) -> Vec<Token> + Send + Sync>;

/// The vocabulary of a model.
pub struct Lexicon {
  /// Bytes of each token; empty for a token without text.
  pub words: Vec<Vec<u8>>,
  /// Tokens whose text is a marker and never part of an answer, unless a grammar names the token itself.
  pub control: Vec<Token>,
  /// End-of-generation tokens, the usual one first.
  pub ends: Vec<Token>,
  /// The model's tokeniser.
  pub tokenize: Tokenize,
}

impl Lexicon {
  /// The 256 bytes and an end.
  pub(super) fn bytes() -> Self {
    let words = (0..=u8::MAX).map(|byte| vec![byte]).chain([Vec::new()]).collect();
    let tokenize: Tokenize = Box::new(|text| text.bytes().map(Token::from).collect());
    Self { words, control: Vec::new(), ends: vec![256], tokenize }
  }

  pub(super) fn environment(mut self) -> TokEnv {
    let marked = |token: &Token| usize::try_from(*token).ok();
    for index in self.control.iter().chain(&self.ends).filter_map(marked) {
      if let Some(word) = self.words.get_mut(index) {
        word.insert(0, TokTrie::SPECIAL_TOKEN_MARKER);
      }
    }
    let ends: Vec<TokenId> = self.ends.iter().map(|end| end.cast_unsigned()).collect();
    let size = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
    let info = TokRxInfo::new(size, ends.first().copied().unwrap_or(u32::MAX));
    let trie = TokTrie::from(&info, &self.words).with_eos_tokens(&ends);
    Arc::new(Environment { trie, tokenize: self.tokenize })
  }
}

struct Environment {
  trie: TokTrie,
  tokenize: Tokenize,
}

impl TokenizerEnv for Environment {
  fn tok_trie(&self) -> &TokTrie {
    &self.trie
  }

  /// The model's own tokens where they spell exactly these bytes; else the longest ones from the left.
  fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
    if let Ok(text) = std::str::from_utf8(bytes) {
      let tokens: Vec<TokenId> = (self.tokenize)(text).into_iter().map(i32::cast_unsigned).collect();
      if self.trie.decode_raw(&tokens) == bytes {
        return tokens;
      }
    }
    self.trie.greedy_tokenize(bytes)
  }
}
