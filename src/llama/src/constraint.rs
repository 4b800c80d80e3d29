//! A model's vocabulary for the grammar engine, and the constraints of requests.

use local_inference_core::decoder::Token;
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::grammar::{
  Constraint, ConstraintOptions, ConstraintSource, GrammarEngine, Lexicon,
};
use local_inference_core::options::GenerateOptions;

use crate::model::Model;
use crate::tokens::Vocabulary;

impl Model {
  /// Compiles the constraint of `options`, if there is one, so that the request finds it ready. Takes up to some seconds
  /// for the first constraint of a model with a large vocabulary, milliseconds afterwards.
  ///
  /// Returns what of a schema the grammar does not enforce.
  ///
  /// # Errors
  /// `GRAMMAR_INVALID`.
  pub fn prepare(&self, options: &GenerateOptions) -> Result<Vec<String>> {
    let Some(constraint) = &options.constraint else { return Ok(Vec::new()) };
    let compiled = self.grammars()?.compile(&constraint.source, &self.named_specials(options)?)?;
    Ok(compiled.warnings().to_vec())
  }

  pub(crate) fn constraint(&self, options: &GenerateOptions) -> Result<Option<Box<dyn Constraint>>> {
    let Some(constraint) = &options.constraint else { return Ok(None) };
    let specials = self.named_specials(options)?;
    self.grammars()?.start(&constraint.source, &specials).map(Some)
  }

  fn grammars(&self) -> Result<&GrammarEngine> {
    let made = self.grammar_slot().get_or_init(|| GrammarEngine::new(lexicon(self.vocabulary())));
    made.as_ref().map_err(Clone::clone)
  }

  /// The control tokens that the options preserve, and those that the grammar of a template's format spells: templates
  /// do not list all of them.
  pub(crate) fn named_specials(&self, options: &GenerateOptions) -> Result<Vec<(String, Token)>> {
    let mut specials = Vec::new();
    for text in &options.preserved_tokens {
      if let [token] = self.tokenize(text, false, true)?[..]
        && self.vocabulary().is_control(token)
      {
        specials.push((text.clone(), token));
      }
    }
    let of_template = |wanted: &&ConstraintOptions| wanted.prefix.is_some() || !wanted.triggers.is_empty();
    if let Some(ConstraintSource::Gbnf(grammar)) =
      options.constraint.as_ref().filter(of_template).map(|wanted| &wanted.source)
    {
      let spelled =
        (0..self.vocabulary_size().cast_signed()).filter(|&token| self.vocabulary().is_control(token));
      for token in spelled {
        let text = self.token_text(token);
        let written = text.replace('\\', "\\\\").replace('"', "\\\"");
        if text.len() > 1 && grammar.contains(&written) && !specials.iter().any(|(_, known)| *known == token)
        {
          specials.push((text, token));
        }
      }
    }
    Ok(specials)
  }
}

fn lexicon(vocabulary: Vocabulary) -> Lexicon {
  let tokens = 0..vocabulary.len().cast_signed();
  let word = |token: Token| {
    let mut bytes = Vec::new();
    vocabulary.piece(token, true, &mut bytes);
    bytes
  };
  let usual = vocabulary.specials().eos;
  let others = tokens.clone().filter(|&token| vocabulary.is_end(token) && Some(token) != usual);
  Lexicon {
    words: tokens.clone().map(word).collect(),
    control: tokens
      .clone()
      .filter(|&token| vocabulary.is_control(token) && !vocabulary.is_end(token))
      .collect(),
    ends: usual.into_iter().filter(|&token| vocabulary.is_end(token)).chain(others).collect(),
    tokenize: Box::new(move |text| vocabulary.tokenize(text, false, false).unwrap_or_default()),
  }
}

/// The reason for a refused token that no mask can replace.
pub(crate) fn nothing_left(banned: bool) -> EngineError {
  let reason =
    if banned { "logitBias bans every token that the grammar admits" } else { "the grammar admits none" };
  EngineError::new(ErrorCode::GrammarInvalid, format!("no token can be chosen: {reason}"))
}
