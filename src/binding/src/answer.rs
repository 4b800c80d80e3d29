//! Answers in the format of their template, as JavaScript objects.

use local_inference_core::error::EngineError;
use local_inference_llama::chat_parse::{self, AnswerParser};
use napi_derive::napi;

use crate::error::to_js;

#[napi(object)]
pub struct AnswerFormat {
  pub number: i32,
  pub generation_prompt: String,
  pub parser: String,
}

#[napi(object, object_from_js = false)]
pub struct ParsedCall {
  pub id: String,
  pub name: String,
  pub arguments: String,
}

#[napi(object, object_from_js = false)]
pub struct ParsedAnswer {
  pub content: String,
  pub reasoning: String,
  pub calls: Vec<ParsedCall>,
}

#[napi]
pub struct NativeAnswerParser {
  parser: AnswerParser,
}

/// A reader of the answers to one rendered chat.
#[napi]
pub fn answer_parser(format: AnswerFormat) -> napi::Result<NativeAnswerParser> {
  let make = || -> Result<_, EngineError> {
    // llama.cpp's messages go to our log from here on, whether or not a model was loaded.
    local_inference_llama::backend::get()?;
    AnswerParser::new(&format.into())
  };
  Ok(NativeAnswerParser { parser: make().map_err(to_js)? })
}

#[napi]
impl NativeAnswerParser {
  /// The parts of an answer; of what there is so far when it is `partial`.
  #[napi]
  pub fn parse(&self, text: String, partial: bool) -> napi::Result<ParsedAnswer> {
    let answer = self.parser.parse(&text, partial).map_err(to_js)?;
    let call =
      |call: chat_parse::ToolCall| ParsedCall { id: call.id, name: call.name, arguments: call.arguments };
    Ok(ParsedAnswer {
      content: answer.content,
      reasoning: answer.reasoning,
      calls: answer.calls.into_iter().map(call).collect(),
    })
  }
}

impl From<AnswerFormat> for chat_parse::AnswerFormat {
  fn from(format: AnswerFormat) -> Self {
    Self { number: format.number, generation_prompt: format.generation_prompt, parser: format.parser }
  }
}

impl From<chat_parse::AnswerFormat> for AnswerFormat {
  fn from(format: chat_parse::AnswerFormat) -> Self {
    Self { number: format.number, generation_prompt: format.generation_prompt, parser: format.parser }
  }
}
