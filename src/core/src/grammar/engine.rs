//! Grammars of one vocabulary, each compiled once, and the constraint that a request follows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use llguidance::Matcher;
use llguidance::toktrie::{TokEnv, TokTrie};

use super::close::Closer;
use super::compile::{Compiled, Factories};
use super::constraint::{Constraint, ConstraintSource};
use super::error::invalid;
use super::lexicon::Lexicon;
use super::mask::TokenMask;
use crate::error::Result;
use crate::sync::lock;
use crate::token::Token;

/// Grammars that are kept; the one that was not used for longest goes.
const KEPT: usize = 32;

type Key = (ConstraintSource, Vec<(String, Token)>);

/// Compiles and keeps grammars for a vocabulary.
pub struct GrammarEngine {
  environment: TokEnv,
  factories: Factories,
  kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
  grammars: HashMap<Key, (u64, Arc<Compiled>)>,
  clock: u64,
}

impl GrammarEngine {
  /// An engine for `lexicon`. Takes a second or two for the largest vocabularies.
  ///
  /// # Errors
  /// `INTERNAL` when the engine refuses the vocabulary.
  pub fn new(lexicon: Lexicon) -> Result<Self> {
    let environment = lexicon.environment();
    let factories = Factories::new(&environment, &Lexicon::bytes().environment())?;
    Ok(Self { environment, factories, kept: Mutex::default() })
  }

  /// The grammar of `source`, compiled on the first call. `specials` are control tokens that a GBNF grammar means where
  /// it spells their text.
  ///
  /// # Errors
  /// `GRAMMAR_INVALID`.
  pub fn compile(&self, source: &ConstraintSource, specials: &[(String, Token)]) -> Result<Arc<Compiled>> {
    let key = (source.clone(), specials.to_vec());
    if let Some(known) = self.kept().get(&key) {
      return Ok(known);
    }
    let compiled = Arc::new(self.factories.compile(source, specials)?);
    self.kept().put(key, Arc::clone(&compiled));
    Ok(compiled)
  }

  /// A constraint at the beginning of an answer.
  ///
  /// # Errors
  /// As [`compile`](Self::compile).
  pub fn start(
    &self,
    source: &ConstraintSource,
    specials: &[(String, Token)],
  ) -> Result<Box<dyn Constraint>> {
    let compiled = self.compile(source, specials)?;
    Ok(Box::new(Following {
      matcher: compiled.matcher(),
      environment: Arc::clone(&self.environment),
      specials: specials.to_vec(),
      compiled,
      closer: None,
      taken: Vec::new(),
      tokens: Vec::new(),
    }))
  }

  fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
    lock(&self.kept)
  }
}

impl Kept {
  fn get(&mut self, key: &Key) -> Option<Arc<Compiled>> {
    self.clock += 1;
    let (used, compiled) = self.grammars.get_mut(key)?;
    *used = self.clock;
    Some(Arc::clone(compiled))
  }

  fn put(&mut self, key: Key, compiled: Arc<Compiled>) {
    self.clock += 1;
    self.grammars.insert(key, (self.clock, compiled));
    if self.grammars.len() > KEPT {
      let oldest = self.grammars.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
      if let Some(oldest) = oldest {
        self.grammars.remove(&oldest);
      }
    }
  }
}

struct Following {
  matcher: Matcher,
  environment: TokEnv,
  specials: Vec<(String, Token)>,
  compiled: Arc<Compiled>,
  /// Made when it is first asked for; `Some(None)` when there is none, or it has lost its way.
  #[allow(clippy::option_option, reason = "not looked for yet, looked for and absent, present")]
  closer: Option<Option<Closer>>,
  /// What was accepted since the closer was last fed.
  taken: Vec<u8>,
  /// What was accepted.
  tokens: Vec<u32>,
}

impl Following {
  /// The closer, brought up to what was accepted.
  fn closer(&mut self) -> Option<&mut Closer> {
    let taken = std::mem::take(&mut self.taken);
    let slot = self.closer.get_or_insert_with(|| self.compiled.closer());
    if slot.as_mut().is_some_and(|closer| !closer.feed(&taken)) {
      *slot = None;
    }
    slot.as_mut()
  }

  fn take(&mut self, tokens: &[u32]) -> Result<()> {
    self.matcher.consume_tokens(tokens).map_err(invalid)?;
    let trie = self.environment.tok_trie();
    for &token in tokens {
      self.taken.extend_from_slice(text_of(trie, token));
    }
    self.tokens.extend_from_slice(tokens);
    Ok(())
  }
}

/// The text of a token; that of a control token has a marker in front.
fn text_of(trie: &TokTrie, token: u32) -> &[u8] {
  let bytes = trie.token(token);
  &bytes[usize::from(bytes.first() == Some(&u8::MAX))..]
}

impl Constraint for Following {
  fn allows(&mut self, token: Token) -> Result<bool> {
    if self.matcher.is_stopped() {
      return Ok(false);
    }
    let count = self.matcher.validate_tokens(&[token.cast_unsigned()]).map_err(invalid)?;
    Ok(count == 1)
  }

  fn mask(&mut self) -> Result<TokenMask> {
    self.matcher.compute_mask_or_eos().map(TokenMask::new).map_err(invalid)
  }

  fn accept(&mut self, token: Token) -> Result<()> {
    self.take(&[token.cast_unsigned()])
  }

  fn accept_text(&mut self, text: &str) -> Result<()> {
    let mut rest = text;
    let mut tokens = Vec::new();
    while !rest.is_empty() {
      let next = self
        .specials
        .iter()
        .filter_map(|(special, token)| rest.find(special.as_str()).map(|at| (at, special.len(), *token)))
        .min_by_key(|&(at, length, _)| (at, usize::MAX - length));
      let (plain, length, special) =
        next.map_or((rest.len(), 0, None), |(at, length, token)| (at, length, Some(token)));
      tokens.extend(self.environment.tok_trie().greedy_tokenize(&rest.as_bytes()[..plain]));
      tokens.extend(special.map(i32::cast_unsigned));
      rest = &rest[plain + length..];
    }
    self.take(&tokens)
  }

  fn forced(&mut self) -> Vec<Token> {
    self.matcher.compute_ff_tokens().into_iter().map(u32::cast_signed).collect()
  }

  fn can_end(&mut self) -> bool {
    !self.matcher.is_error() && (self.matcher.is_stopped() || self.matcher.is_accepting().unwrap_or(false))
  }

  fn matches_without(&mut self, tail: usize) -> bool {
    let (trie, mut bytes, mut tokens) = (self.environment.tok_trie(), Vec::new(), 0);
    while bytes.len() < tail {
      let Some(&token) = self.tokens.iter().nth_back(tokens) else { return false };
      bytes.splice(0..0, text_of(trie, token).iter().copied());
      tokens += 1;
    }
    let kept = self.environment.tokenize_bytes(&bytes[..bytes.len() - tail]);
    let mut matcher = self.matcher.deep_clone();
    let back = matcher.rollback(tokens).and_then(|()| matcher.consume_tokens(&kept));
    back.is_ok() && matcher.is_accepting().unwrap_or(false)
  }

  fn is_complete(&self) -> bool {
    self.matcher.is_stopped() && !self.matcher.is_error()
  }

  fn closing(&mut self) -> Option<Vec<u8>> {
    if self.is_complete() {
      return Some(Vec::new());
    }
    let found = self.closer().and_then(Closer::search);
    if found.is_none() {
      // Nothing in bounded time: searching again after the next token would cost it again.
      self.closer = Some(None);
    }
    found
  }

  fn ending(&mut self) -> Option<Vec<u8>> {
    self.closer().and_then(Closer::ending)
  }

  fn tokens(&self, text: &[u8]) -> Vec<Token> {
    self.environment.tokenize_bytes(text).into_iter().map(u32::cast_signed).collect()
  }
}
