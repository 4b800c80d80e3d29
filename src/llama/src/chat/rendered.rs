//! A rendered prompt and how the answer to it is read.

use std::sync::OnceLock;

use local_inference_core::chat::{AnswerRules, CallGrammar, PLAIN_STOP, reasoning_tags};
use local_inference_core::error::Result;
use serde::Deserialize;

use super::parse::{Answer, AnswerFormat, AnswerParser};

/// A rendered prompt and what its template says about the answer.
#[derive(Debug)]
pub struct RenderedChat {
  /// The prompt; tokenise it with special tokens parsed and added: what the vocabulary adds by itself (usually the
  /// begin token) has been taken off here.
  pub prompt: String,
  /// llama.cpp's name of the answer's format.
  pub format: String,
  /// Whether the model has no template and the plain form was used.
  pub plain: bool,
  /// Whether the template has a switch for reasoning.
  pub supports_thinking: bool,
  /// How the answer is generated.
  pub rules: AnswerRules,
  answer: AnswerFormat,
  parser: OnceLock<Result<AnswerParser>>,
}

/// The shim's output object.
#[derive(Deserialize)]
pub(super) struct Rendered {
  prompt: String,
  format: String,
  generation_prompt: String,
  supports_thinking: bool,
  thinking_start: String,
  thinking_ends: Vec<String>,
  stops: Vec<String>,
  preserved_tokens: Vec<String>,
  grammar: String,
  grammar_lazy: bool,
  format_number: i32,
  parser: String,
  trigger_words: Vec<String>,
  trigger_patterns: Vec<String>,
}

/// How a prompt came about.
pub(super) struct Origin<'a> {
  /// The template's text.
  pub(super) template: &'a str,
  /// The template is the plain form.
  pub(super) plain: bool,
  /// The prompt ends where the assistant's turn begins.
  pub(super) opens_turn: bool,
  /// The model may call tools.
  pub(super) may_call: bool,
}

impl RenderedChat {
  pub(super) fn new(rendered: Rendered, origin: &Origin) -> Self {
    let mut stops = rendered.stops;
    if origin.plain {
      stops.push(PLAIN_STOP.to_owned());
    }
    // llama.cpp names the generation prompt whether or not it was asked for.
    let opening = if !origin.opens_turn {
      ""
    } else if rendered.generation_prompt.is_empty() {
      tail(&rendered.prompt)
    } else {
      &rendered.generation_prompt
    };
    let reasoning =
      reasoning_tags(&rendered.thinking_start, &rendered.thinking_ends, opening, origin.template);
    let calls = (origin.may_call && !rendered.grammar.is_empty()).then(|| CallGrammar {
      source: rendered.grammar,
      lazy: rendered.grammar_lazy,
      words: rendered.trigger_words,
      patterns: rendered.trigger_patterns,
      prefix: rendered.generation_prompt.clone(),
    });
    Self {
      prompt: rendered.prompt,
      format: rendered.format,
      plain: origin.plain,
      supports_thinking: rendered.supports_thinking,
      rules: AnswerRules { stops, reasoning, preserved_tokens: rendered.preserved_tokens, calls },
      answer: AnswerFormat {
        number: rendered.format_number,
        generation_prompt: rendered.generation_prompt,
        parser: rendered.parser,
      },
      parser: OnceLock::new(),
    }
  }

  /// The parts of an answer to this prompt, of the answer so far when `partial`. `text` and `reasoning` are what the
  /// generation gave.
  ///
  /// # Errors
  /// `INTERNAL` when a complete answer does not have the template's format.
  pub fn read(&self, text: &str, reasoning: &str, partial: bool) -> Result<Answer> {
    match self.parser.get_or_init(|| AnswerParser::new(&self.answer)) {
      Ok(parser) => parser.parse(&self.rules.output(text, reasoning), partial),
      Err(error) => Err(error.clone()),
    }
  }
}

/// The end of a prompt, where a template may open a reasoning block.
fn tail(prompt: &str) -> &str {
  const LENGTH: usize = 128;
  let mut start = prompt.len().saturating_sub(LENGTH);
  while !prompt.is_char_boundary(start) {
    start += 1;
  }
  &prompt[start..]
}
