//! Chat templates, rendered by llama.cpp's Jinja engine.

use std::ffi::{CStr, CString};
use std::ptr::NonNull;

use local_inference_core::chat::{PLAIN_STOP, PLAIN_TEMPLATE, reasoning_tags};
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::text::ReasoningTags;
use serde::Deserialize;

use crate::chat_parse::AnswerFormat;
use crate::ffi::{LiChat, LiError, c_string, li_chat_free, li_chat_new, li_chat_render, li_string_free};
use crate::model::Model;

/// A parsed template. Rendering is thread-safe.
pub struct ChatTemplate {
  pointer: NonNull<LiChat>,
  source: String,
  plain: bool,
}

// SAFETY: templates are immutable after parsing; rendering reads them.
unsafe impl Send for ChatTemplate {}
// SAFETY: as above.
unsafe impl Sync for ChatTemplate {}

impl Drop for ChatTemplate {
  fn drop(&mut self) {
    // SAFETY: created by li_chat_new, freed once.
    unsafe { li_chat_free(self.pointer.as_ptr()) }
  }
}

/// What to render.
#[derive(Debug, Clone)]
pub struct ChatInput {
  /// OpenAI chat messages: a JSON array.
  pub messages: String,
  /// OpenAI tools: a JSON array.
  pub tools: Option<String>,
  /// `auto`, `none` or `required`.
  pub tool_choice: Option<String>,
  /// Whether the prompt ends where the assistant's turn begins.
  pub add_generation_prompt: bool,
  /// Whether a reasoning model may reason.
  pub enable_thinking: bool,
  /// Further variables of the template: a JSON object.
  pub template_kwargs: Option<String>,
}

/// A rendered prompt and what a reader of the answer needs to know.
#[derive(Debug, Clone)]
pub struct RenderedChat {
  /// The prompt; tokenise it with special tokens parsed and added: what the vocabulary adds by itself (usually the
  /// begin token) has been taken off here.
  pub prompt: String,
  /// llama.cpp's name of the answer's format.
  pub format: String,
  /// Whether the model has no template and the plain form was used.
  pub plain: bool,
  /// Strings that end the answer.
  pub stops: Vec<String>,
  /// Where reasoning begins and ends.
  pub reasoning: Option<ReasoningTags>,
  /// Special tokens that are part of the answer's format.
  pub preserved_tokens: Vec<String>,
  /// Whether the template has a switch for reasoning.
  pub supports_thinking: bool,
  /// GBNF that constrains tool calls.
  pub grammar: Option<String>,
  /// Whether the grammar waits for a trigger.
  pub grammar_lazy: bool,
  /// Texts, and regular expressions, at which a lazy grammar begins.
  pub trigger_words: Vec<String>,
  /// As above.
  pub trigger_patterns: Vec<String>,
  /// How the answer is read.
  pub answer: AnswerFormat,
}

/// The shim's output object.
#[derive(Deserialize)]
struct Rendered {
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

impl ChatTemplate {
  /// Parses `source`, or the model's own template, or the plain form when the model has none.
  pub(crate) fn parse(model: &Model, source: Option<&str>) -> Result<Self> {
    if source.is_some_and(|source| source.trim().is_empty()) {
      return Err(EngineError::new(ErrorCode::TemplateInvalid, "the chat template is empty"));
    }
    let own = model.header().chat_template.as_deref().filter(|own| !own.trim().is_empty());
    let (text, plain) = match source.or(own) {
      Some(text) => (text, false),
      None => (PLAIN_TEMPLATE, true),
    };
    let c_text = CString::new(text).map_err(|_| {
      EngineError::new(ErrorCode::TemplateInvalid, "the chat template contains a NUL character")
    })?;
    let mut error = LiError::new();
    // SAFETY: the model and the string outlive the call; the templates copy what they need.
    let pointer = unsafe { li_chat_new(model.pointer().as_ptr(), c_text.as_ptr(), &raw mut error) };
    match NonNull::new(pointer) {
      Some(pointer) => Ok(Self { pointer, source: text.to_owned(), plain }),
      None => Err(error.take("the chat template cannot be parsed").unwrap_or_else(|| {
        EngineError::new(ErrorCode::TemplateInvalid, "the chat template cannot be parsed")
      })),
    }
  }

  /// Renders a conversation.
  ///
  /// # Errors
  /// `INVALID_INPUT` for JSON that is not a conversation, `TEMPLATE_INVALID` when the template itself fails.
  pub fn render(&self, input: &ChatInput) -> Result<RenderedChat> {
    let object = c_string("the conversation", &to_json(input)?)?;
    let mut error = LiError::new();
    // SAFETY: the handle is alive, the string outlives the call.
    let text = unsafe { li_chat_render(self.pointer.as_ptr(), object.as_ptr(), &raw mut error) };
    error.check("the conversation cannot be rendered")?;
    let Some(text) = NonNull::new(text) else {
      return Err(EngineError::new(ErrorCode::Internal, "rendering gave no text"));
    };
    // SAFETY: a NUL-terminated string of the shim, freed after the copy.
    let json = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned();
    // SAFETY: as above.
    unsafe { li_string_free(text.as_ptr()) };
    let rendered: Rendered = serde_json::from_str(&json)
      .map_err(|error| EngineError::new(ErrorCode::Internal, error.to_string()))?;
    Ok(self.describe(rendered, input.add_generation_prompt))
  }

  fn describe(&self, rendered: Rendered, add_generation_prompt: bool) -> RenderedChat {
    let mut stops = rendered.stops;
    if self.plain {
      stops.push(PLAIN_STOP.to_owned());
    }
    // llama.cpp names the generation prompt whether or not it was asked for.
    let generation_prompt = if !add_generation_prompt {
      ""
    } else if rendered.generation_prompt.is_empty() {
      tail(&rendered.prompt)
    } else {
      &rendered.generation_prompt
    };
    RenderedChat {
      reasoning: reasoning_tags(
        &rendered.thinking_start,
        &rendered.thinking_ends,
        generation_prompt,
        &self.source,
      ),
      prompt: rendered.prompt,
      format: rendered.format,
      plain: self.plain,
      stops,
      preserved_tokens: rendered.preserved_tokens,
      supports_thinking: rendered.supports_thinking,
      grammar: Some(rendered.grammar).filter(|grammar| !grammar.is_empty()),
      grammar_lazy: rendered.grammar_lazy,
      trigger_words: rendered.trigger_words,
      trigger_patterns: rendered.trigger_patterns,
      answer: AnswerFormat {
        number: rendered.format_number,
        generation_prompt: rendered.generation_prompt,
        parser: rendered.parser,
      },
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

/// The shim's input object. The caller's JSON is passed on as it was written: parsing and writing it again would sort the
/// keys, and models (and the KV cache) see their order in tool definitions and calls.
fn to_json(input: &ChatInput) -> Result<String> {
  let mut fields = vec![("messages", checked("messages", &input.messages)?.to_owned())];
  if let Some(tools) = &input.tools {
    fields.push(("tools", checked("tools", tools)?.to_owned()));
  }
  if let Some(choice) = &input.tool_choice {
    fields.push(("tool_choice", serde_json::Value::from(choice.as_str()).to_string()));
  }
  if let Some(kwargs) = &input.template_kwargs {
    fields.push(("template_kwargs", checked("template_kwargs", kwargs)?.to_owned()));
  }
  fields.push(("add_generation_prompt", input.add_generation_prompt.to_string()));
  fields.push(("enable_thinking", input.enable_thinking.to_string()));
  let fields: Vec<String> = fields.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
  Ok(format!("{{{}}}", fields.join(",")))
}

/// `text`, when it is JSON of a sane depth: llama.cpp walks it recursively.
fn checked<'a>(what: &str, text: &'a str) -> Result<&'a str> {
  match serde_json::from_str::<serde_json::Value>(text) {
    Ok(_) => Ok(text),
    Err(error) => Err(EngineError::new(ErrorCode::InvalidInput, format!("{what} is not JSON: {error}"))),
  }
}
