//! Chat rendering, and the reading of answers, as JavaScript objects.

use local_inference_llama::chat;
use napi_derive::napi;

use crate::error::to_js;

#[napi(object, object_to_js = false)]
pub struct ChatInput {
  pub messages_json: String,
  pub tools_json: Option<String>,
  #[napi(ts_type = "\"auto\" | \"none\" | \"required\"")]
  pub tool_choice: Option<String>,
  pub add_generation_prompt: Option<bool>,
  pub enable_thinking: Option<bool>,
  pub template: Option<String>,
  pub template_kwargs_json: Option<String>,
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

/// A conversation as the model's template renders it. What the template fixes about the answer (where reasoning begins
/// and ends, its stops, the form of tool calls) goes with it to the request that continues it.
#[napi]
pub struct RenderedChat {
  rendered: chat::RenderedChat,
}

impl RenderedChat {
  pub(crate) fn new(rendered: chat::RenderedChat) -> Self {
    Self { rendered }
  }

  pub(crate) fn rendered(&self) -> &chat::RenderedChat {
    &self.rendered
  }
}

#[napi]
impl RenderedChat {
  /// The prompt, special tokens included.
  #[napi(getter)]
  pub fn prompt(&self) -> &str {
    &self.rendered.prompt
  }

  /// llama.cpp's name of the format of answers.
  #[napi(getter)]
  pub fn format(&self) -> &str {
    &self.rendered.format
  }

  /// Whether the model has no template, so that a plain form was used.
  #[napi(getter)]
  pub fn used_fallback(&self) -> bool {
    self.rendered.plain
  }

  /// Whether the template has a switch for reasoning.
  #[napi(getter)]
  pub fn supports_thinking(&self) -> bool {
    self.rendered.supports_thinking
  }

  /// Whether the template has a form of its own for calls of the tools that were rendered.
  #[napi(getter)]
  pub fn constrains_calls(&self) -> bool {
    self.rendered.rules.calls.is_some()
  }

  /// The parts of an answer, from its text and its reasoning; of what there is so far when it is `partial`.
  #[napi]
  pub fn read(&self, text: String, reasoning: String, partial: bool) -> napi::Result<ParsedAnswer> {
    let answer = self.rendered.read(&text, &reasoning, partial).map_err(to_js)?;
    let call = |call: chat::ToolCall| ParsedCall { id: call.id, name: call.name, arguments: call.arguments };
    Ok(ParsedAnswer {
      content: answer.content,
      reasoning: answer.reasoning,
      calls: answer.calls.into_iter().map(call).collect(),
    })
  }
}

impl From<ChatInput> for chat::ChatInput {
  fn from(input: ChatInput) -> Self {
    Self {
      messages: input.messages_json,
      tools: input.tools_json,
      tool_choice: input.tool_choice,
      add_generation_prompt: input.add_generation_prompt.unwrap_or(true),
      enable_thinking: input.enable_thinking.unwrap_or(true),
      template_kwargs: input.template_kwargs_json,
    }
  }
}
