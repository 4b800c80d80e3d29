//! Chat templates, rendered by llama.cpp's Jinja engine.

use std::ffi::CStr;
use std::ptr::NonNull;

use local_inference_core::chat::{PLAIN_STOP, PLAIN_TEMPLATE, reasoning_tags};
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::text::ReasoningTags;
use serde::Deserialize;

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
    let c_text = c_string("the chat template", text)?;
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

fn to_json(input: &ChatInput) -> Result<String> {
  let parse = |what: &str, text: &str| -> Result<serde_json::Value> {
    serde_json::from_str(text)
      .map_err(|error| EngineError::new(ErrorCode::InvalidInput, format!("{what} is not JSON: {error}")))
  };
  let mut object = serde_json::Map::new();
  object.insert("messages".into(), parse("messages", &input.messages)?);
  if let Some(tools) = &input.tools {
    object.insert("tools".into(), parse("tools", tools)?);
  }
  if let Some(choice) = &input.tool_choice {
    object.insert("tool_choice".into(), choice.clone().into());
  }
  if let Some(kwargs) = &input.template_kwargs {
    object.insert("template_kwargs".into(), parse("template_kwargs", kwargs)?);
  }
  object.insert("add_generation_prompt".into(), input.add_generation_prompt.into());
  object.insert("enable_thinking".into(), input.enable_thinking.into());
  Ok(serde_json::Value::Object(object).to_string())
}
