//! Chat rendering, as JavaScript objects.

use local_inference_llama::chat;
use napi_derive::napi;

use crate::answer::AnswerFormat;

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

#[allow(clippy::struct_excessive_bools, reason = "independent facts about a prompt, not a state")]
#[napi(object, object_from_js = false)]
pub struct RenderedChat {
  pub prompt: String,
  pub format: String,
  pub used_fallback: bool,
  pub stops: Vec<String>,
  pub thinking_start: Option<String>,
  pub thinking_ends: Vec<String>,
  pub thinking_open: bool,
  pub preserved_tokens: Vec<String>,
  pub supports_thinking: bool,
  pub grammar: Option<String>,
  pub grammar_lazy: bool,
  pub trigger_words: Vec<String>,
  pub trigger_patterns: Vec<String>,
  pub answer_format: AnswerFormat,
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

impl From<chat::RenderedChat> for RenderedChat {
  fn from(rendered: chat::RenderedChat) -> Self {
    let reasoning = rendered.reasoning;
    Self {
      prompt: rendered.prompt,
      format: rendered.format,
      used_fallback: rendered.plain,
      stops: rendered.stops,
      thinking_start: reasoning.as_ref().map(|tags| tags.start.clone()),
      thinking_open: reasoning.as_ref().is_some_and(|tags| tags.open),
      thinking_ends: reasoning.map(|tags| tags.ends).unwrap_or_default(),
      preserved_tokens: rendered.preserved_tokens,
      supports_thinking: rendered.supports_thinking,
      grammar: rendered.grammar,
      grammar_lazy: rendered.grammar_lazy,
      trigger_words: rendered.trigger_words,
      trigger_patterns: rendered.trigger_patterns,
      answer_format: rendered.answer.into(),
    }
  }
}
