//! From a source to a grammar that requests can follow, in bounded time and memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use llguidance::api::{GrammarWithLexer, ParserLimits, TopLevelGrammar};
use llguidance::toktrie::{InferenceCapabilities, TokEnv};
use llguidance::{Matcher, ParserFactory};

use super::close::Closer;
use super::constraint::ConstraintSource;
use super::error::invalid;
use super::{gbnf, parts, schema, translate};
use crate::error::Result;
use crate::error::{EngineError, ErrorCode};
use crate::sync::lock;
use crate::token::Token;

/// Stack of the thread that compiles: nested sources are read recursively.
const STACK: usize = 256 << 20;
/// Requests that share the lexer states found by those before them; they are found again after that many.
const GENERATION: u32 = 200;

/// A grammar for one vocabulary.
pub struct Compiled {
  pristine: Matcher,
  shared: Mutex<Shared>,
  /// The same grammar over single bytes; absent when it names tokens.
  bytes: Option<Matcher>,
  endings: Vec<String>,
  warnings: Vec<String>,
}

/// A matcher whose clones share lexer states, so that later requests find warm ones.
struct Shared {
  matcher: Matcher,
  uses: u32,
}

/// What to compile: the engine's notation, and texts that end a part of it.
struct Input {
  tokens: Notation,
  bytes: Option<Notation>,
  endings: Vec<String>,
}

#[derive(Clone)]
enum Notation {
  Lark(String),
  Schema(String),
}

impl Compiled {
  /// What of a schema the grammar does not enforce; empty when it enforces all.
  pub fn warnings(&self) -> &[String] {
    &self.warnings
  }

  pub(super) fn matcher(&self) -> Matcher {
    let mut shared = lock(&self.shared);
    shared.uses += 1;
    if shared.uses >= GENERATION {
      *shared = Shared { matcher: self.pristine.deep_clone(), uses: 0 };
    }
    shared.matcher.clone()
  }

  pub(super) fn closer(&self) -> Option<Closer> {
    self.bytes.as_ref().map(|matcher| Closer::new(matcher.deep_clone(), &self.endings))
  }
}

/// Both forms in which grammars are compiled.
pub(super) struct Factories {
  pub(super) tokens: ParserFactory,
  pub(super) bytes: ParserFactory,
}

impl Factories {
  pub(super) fn new(tokens: &TokEnv, bytes: &TokEnv) -> Result<Self> {
    let factory = |environment: &TokEnv, slices: &[String]| -> Result<ParserFactory> {
      let mut factory = ParserFactory::new(
        environment,
        InferenceCapabilities { ff_tokens: true, ..Default::default() },
        slices,
      )
      .map_err(|error| EngineError::new(ErrorCode::Internal, error.to_string()))?;
      factory.quiet();
      *factory.limits_mut() = limits();
      Ok(factory)
    };
    let slices = llguidance::earley::SlicedBiasComputer::general_slices();
    Ok(Self { tokens: factory(tokens, &slices)?, bytes: factory(bytes, &[])? })
  }

  /// Compiles `source`; literals that contain one of `specials` mean those tokens.
  pub(super) fn compile(&self, source: &ConstraintSource, specials: &[(String, Token)]) -> Result<Compiled> {
    let work = || catch_unwind(AssertUnwindSafe(|| self.build(source, specials)));
    let outcome = std::thread::scope(|scope| {
      let thread = std::thread::Builder::new().name("grammar".to_owned()).stack_size(STACK);
      Ok(thread.spawn_scoped(scope, work)?.join())
    });
    match outcome {
      Ok(Ok(Ok(compiled))) => compiled,
      Ok(_) => Err(invalid("the engine failed on it")),
      Err::<_, std::io::Error>(error) => Err(EngineError::new(ErrorCode::Internal, error.to_string())),
    }
  }

  fn build(&self, source: &ConstraintSource, specials: &[(String, Token)]) -> Result<Compiled> {
    let (input, strict) = self.read(source, specials)?;
    let (input, pristine) = match (start(&self.tokens, &input.tokens), strict) {
      (Ok(matcher), _) => (input, matcher),
      (Err(error), None) => return Err(error),
      // What cannot be enforced is left out, and named by the warnings.
      (Err(_), Some(lenient)) => {
        let matcher = start(&self.tokens, &lenient.tokens)?;
        (lenient, matcher)
      }
    };
    let mut pristine = pristine;
    let warnings = pristine.grammar_warnings();
    let bytes = input.bytes.as_ref().and_then(|notation| start(&self.bytes, notation).ok());
    let shared = Mutex::new(Shared { matcher: pristine.deep_clone(), uses: 0 });
    Ok(Compiled { pristine, shared, bytes, endings: input.endings, warnings })
  }

  /// The source in the engine's notation, and for a schema its lenient form.
  fn read(&self, source: &ConstraintSource, specials: &[(String, Token)]) -> Result<(Input, Option<Input>)> {
    match source {
      ConstraintSource::Gbnf(text) => {
        let grammar = gbnf::parse(text)?;
        let trie = self.tokens.tok_env().tok_trie();
        let token = |name: &str| {
          let special = trie.get_special_token(name).or_else(|| trie.token_id_at_bytes(name.as_bytes()));
          special.map(u32::cast_signed)
        };
        let tokens = Notation::Lark(translate::to_lark(&grammar, specials, &token)?);
        let bytes = translate::to_lark(&grammar, &[], &|_| None).ok().map(Notation::Lark);
        Ok((Input { tokens, bytes, endings: translate::literals(&grammar) }, None))
      }
      ConstraintSource::Parts(text) => {
        let (lark, endings) = parts::to_lark(text)?;
        let notation = Notation::Lark(lark);
        Ok((Input { tokens: notation.clone(), bytes: Some(notation), endings }, None))
      }
      ConstraintSource::Schema(text) => {
        let value = schema::parse(text)?;
        let form = |lenient| -> Result<Input> {
          let notation = Notation::Schema(schema::prepared(&value, lenient)?);
          Ok(Input { tokens: notation.clone(), bytes: Some(notation), endings: Vec::new() })
        };
        Ok((form(false)?, Some(form(true)?)))
      }
    }
  }
}

fn limits() -> ParserLimits {
  ParserLimits {
    // A state takes one to two kilobytes.
    max_lexer_states: 40_000,
    precompute_large_lexemes: false,
    verbose_errors: false,
    ..ParserLimits::default()
  }
}

fn start(factory: &ParserFactory, notation: &Notation) -> Result<Matcher> {
  let mut grammar = GrammarWithLexer::default();
  match notation {
    Notation::Lark(text) => grammar.lark_grammar = Some(text.clone()),
    Notation::Schema(text) => grammar.json_schema = Some(schema::parse(text)?),
  }
  let matcher =
    Matcher::new(factory.create_parser(TopLevelGrammar { grammars: vec![grammar], max_tokens: None }));
  match matcher.get_error() {
    None => Ok(matcher),
    Some(error) => Err(invalid(error.lines().next().unwrap_or_default())),
  }
}
