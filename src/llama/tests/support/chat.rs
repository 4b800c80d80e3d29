//! Conversations for the tests of chat templates.
#![allow(dead_code, reason = "each test file uses a part")]

use local_inference_core::error::Result;
use local_inference_llama::chat::{ChatInput, RenderedChat};
use local_inference_llama::model::Model;

/// System, user, assistant, user.
pub(crate) const TALK: &str = r#"[
  {"role": "system", "content": "Be brief."},
  {"role": "user", "content": "Hi 👋"},
  {"role": "assistant", "content": "Hello!"},
  {"role": "user", "content": "What is 2+2?"}
]"#;

/// One user message in two parts.
pub(crate) const PARTS: &str = r#"[{"role": "user", "content": [
  {"type": "text", "text": "One"},
  {"type": "text", "text": "Two"}
]}]"#;

/// A question, the tool call and its result.
pub(crate) const TOOL_TALK: &str = r#"[
  {"role": "user", "content": "Weather in Oslo?"},
  {"role": "assistant", "content": null, "tool_calls": [
    {"id": "abcdefghi", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}
  ]},
  {"role": "tool", "tool_call_id": "abcdefghi", "content": "12 degrees"}
]"#;

/// A function whose keys are in another than alphabetical order.
pub(crate) const TOOLS: &str = r#"[{"type": "function", "function": {
  "name": "weather",
  "description": "Current weather",
  "parameters": {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "City name"}},
    "required": ["city"]
  }
}}]"#;

/// The same as a template prints it.
pub(crate) const TOOL_JSON: &str = concat!(
  r#"{"type": "function", "function": {"name": "weather", "description": "Current weather", "#,
  r#""parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "City name"}}, "#,
  r#""required": ["city"]}}}"#
);

/// What the system turn of Qwen's templates says about tools.
pub(crate) fn qwen_tools() -> String {
  format!(
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function \
     signatures within <tools></tools> XML tags:\n<tools>\n{TOOL_JSON}\n</tools>\n\nFor each function call, return a \
     json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n\
     {{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n</tool_call><|im_end|>\n"
  )
}

/// Qwen's form of the tool talk.
pub(crate) const QWEN_TOOL_TALK: &str = concat!(
  "<|im_start|>user\nWeather in Oslo?<|im_end|>\n",
  "<|im_start|>assistant\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
  "<|im_end|>\n<|im_start|>user\n<tool_response>\n12 degrees\n</tool_response><|im_end|>\n",
);

pub(crate) fn input(messages: &str) -> ChatInput {
  ChatInput {
    messages: messages.to_owned(),
    tools: None,
    tool_choice: None,
    add_generation_prompt: true,
    enable_thinking: true,
    template_kwargs: None,
  }
}

pub(crate) fn with_tools(messages: &str) -> ChatInput {
  ChatInput { tools: Some(TOOLS.to_owned()), ..input(messages) }
}

/// A published template, which the development models bring along.
pub(crate) fn published(name: &str) -> String {
  let path = super::model_path("chat-templates").join(format!("{name}.jinja"));
  std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn render(model: &Model, template: &str, input: &ChatInput) -> Result<RenderedChat> {
  model.chat_template(Some(template))?.render(input)
}

#[track_caller]
pub(crate) fn prompt(model: &Model, template: &str, input: &ChatInput) -> String {
  render(model, template, input).unwrap().prompt
}
