//! Constraints on an answer, from JavaScript.

use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::grammar::{ConstraintOptions, ConstraintSource, Span, Trigger};
use napi_derive::napi;

#[napi(object, object_to_js = false)]
pub struct ConstraintInput {
  #[napi(ts_type = "\"gbnf\" | \"schema\" | \"parts\"")]
  pub kind: String,
  pub source: String,
  pub triggers: Option<Vec<String>>,
  pub trigger_patterns: Option<Vec<String>>,
  pub prefix: Option<String>,
  pub spans: Option<Vec<SpanInput>>,
}

/// A stretch of the answer: the given text, or without one a JSON value.
#[napi(object, object_to_js = false)]
pub struct SpanInput {
  pub text: Option<String>,
  pub greedy: Option<bool>,
}

impl TryFrom<ConstraintInput> for ConstraintOptions {
  type Error = EngineError;

  fn try_from(input: ConstraintInput) -> Result<Self> {
    let source = match input.kind.as_str() {
      "gbnf" => ConstraintSource::Gbnf(input.source),
      "schema" => ConstraintSource::Schema(input.source),
      "parts" => ConstraintSource::Parts(input.source),
      _ => {
        let message = "constraint.kind must be \"gbnf\", \"schema\" or \"parts\"";
        return Err(EngineError::new(ErrorCode::InvalidInput, message));
      }
    };
    let texts = input.triggers.into_iter().flatten().map(Trigger::Text);
    let patterns = input.trigger_patterns.into_iter().flatten().map(Trigger::Pattern);
    let span = |SpanInput { text, greedy }| match text {
      Some(text) => Span::Literal(text),
      None => Span::Value { greedy: greedy.unwrap_or_default() },
    };
    let spans = input.spans.into_iter().flatten().map(span).collect();
    let options = Self { source, triggers: texts.chain(patterns).collect(), prefix: input.prefix, spans };
    options.validate()?;
    Ok(options)
  }
}

/// The constraint of a request: the one that is given, or its GBNF grammar.
pub(crate) fn of(
  constraint: Option<ConstraintInput>,
  grammar: Option<String>,
) -> Result<Option<ConstraintOptions>> {
  match (constraint, grammar) {
    (Some(input), _) => input.try_into().map(Some),
    (None, Some(text)) => {
      let options = ConstraintOptions::new(ConstraintSource::Gbnf(text));
      options.validate()?;
      Ok(Some(options))
    }
    (None, None) => Ok(None),
  }
}
