//! Chat templates, rendered by llama.cpp's Jinja engine.

mod parse;
mod rendered;

use std::ffi::{CStr, CString};
use std::ptr::NonNull;

use llama_cpp_sys_2 as sys;
use local_inference_core::chat::PLAIN_TEMPLATE;
use local_inference_core::error::{EngineError, ErrorCode, Result};

pub use parse::{Answer, ToolCall};
pub use rendered::RenderedChat;

use crate::ffi::{LiChat, LiError, c_string, li_chat_free, li_chat_new, li_chat_render, li_string_free};
use rendered::Origin;

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

impl ChatTemplate {
  /// Parses `source`, or `own`, the model's template, or the plain form when the model has none.
  ///
  /// # Safety
  /// `model` is alive, and outlives the template.
  pub(crate) unsafe fn parse(
    model: NonNull<sys::llama_model>,
    source: Option<&str>,
    own: Option<&str>,
  ) -> Result<Self> {
    if source.is_some_and(|source| source.trim().is_empty()) {
      return Err(EngineError::new(ErrorCode::TemplateInvalid, "the chat template is empty"));
    }
    let own = own.filter(|own| !own.trim().is_empty());
    let (text, plain) = match source.or(own) {
      Some(text) => (text, false),
      None => (PLAIN_TEMPLATE, true),
    };
    let c_text = CString::new(text).map_err(|_| {
      EngineError::new(ErrorCode::TemplateInvalid, "the chat template contains a NUL character")
    })?;
    let mut error = LiError::new();
    // SAFETY: the model and the string outlive the call; the templates copy what they need.
    let pointer = unsafe { li_chat_new(model.as_ptr(), c_text.as_ptr(), &raw mut error) };
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
    let rendered = serde_json::from_str(&json)
      .map_err(|error| EngineError::new(ErrorCode::Internal, error.to_string()))?;
    let origin = Origin {
      template: &self.source,
      plain: self.plain,
      opens_turn: input.add_generation_prompt,
      may_call: input.tools.is_some() && input.tool_choice.as_deref() != Some("none"),
    };
    Ok(RenderedChat::new(rendered, &origin))
  }
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
