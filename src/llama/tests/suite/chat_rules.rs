//! What holds for every chat template: errors, the plain form, begin tokens, unusual content.

use crate::support::chat::{TALK, TOOL_TALK, input, prompt, published, render, with_tools};
use crate::support::{load, smollm2, tiny};
use local_inference_core::decoder::Token;
use local_inference_core::error::{EngineError, ErrorCode};
use local_inference_llama::chat::ChatInput;
use local_inference_llama::model::Model;

const ECHO: &str =
  "{%- for message in messages -%}{{- message.role + '=' + message.content + ';' -}}{%- endfor -%}";

/// Opens a reasoning block in the generation prompt, as `QwQ` and the distilled `DeepSeek` models do.
const OPENING: &str = "{%- for message in messages -%}\
  {{- '<|im_start|>' + message.role + '\\n' + message.content.split('</think>')[-1] + '<|im_end|>\\n' -}}\
  {%- endfor -%}\
  {%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n<think>\\n' -}}{%- endif -%}";

fn user(text: &str) -> String {
  format!(r#"[{{"role": "user", "content": {}}}]"#, serde_json::Value::from(text))
}

#[track_caller]
fn failure(model: &Model, template: &str, input: &ChatInput) -> EngineError {
  render(model, template, input).expect_err("the input is not acceptable")
}

#[test]
fn a_template_that_does_not_parse_is_invalid_and_says_why() {
  let model = load(&tiny());
  for template in
    ["{% for m in messages %}{{ m.content }}", "{{ messages", "{% bogus %}", "{{ 1 + }}", "{% endfor %}"]
  {
    let error = failure(&model, template, &input(TALK));
    assert_eq!(error.code(), ErrorCode::TemplateInvalid, "{template}: {error}");
    assert!(!error.to_string().contains("std::exception"), "{template}: {error}");
    assert!(
      error.to_string().len() > "the chat template cannot be parsed: ".len() + 10,
      "{template}: {error}"
    );
  }
  for empty in ["", " \n"] {
    let error = failure(&model, empty, &input(TALK));
    assert_eq!(
      (error.code(), error.to_string().contains("empty")),
      (ErrorCode::TemplateInvalid, true),
      "{error}"
    );
  }
}

#[test]
fn a_template_that_fails_while_rendering_is_invalid_with_its_own_words() {
  let model = load(&tiny());
  for (template, reason) in [
    ("{{ raise_exception('Only cats may ask') }}", "Only cats may ask"),
    ("{{ no_such_function(1) }}", "no_such_function"),
    ("{{ messages[0].content | no_such_filter }}", "no_such_filter"),
    ("{{ 1 + messages }}", "+"),
  ] {
    let error = failure(&model, template, &input(TALK));
    assert_eq!(error.code(), ErrorCode::TemplateInvalid, "{template}: {error}");
    assert!(error.to_string().contains(reason), "{template}: {error}");
    assert!(!error.to_string().contains("parser generation"), "{template}: {error}");
  }
  let alternate = r#"[{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]"#;
  let error = failure(&model, &published("google-gemma-2-2b-it"), &input(alternate));
  assert_eq!(error.code(), ErrorCode::TemplateInvalid);
  assert!(error.to_string().contains("Conversation roles must alternate"), "{error}");
}

#[test]
fn a_broken_template_leaves_the_model_usable() {
  let model = load(&tiny());
  for _ in 0..3 {
    failure(&model, "{{ messages", &input(TALK));
    assert_eq!(prompt(&model, ECHO, &input(&user("hi"))), "user=hi;");
  }
}

#[test]
fn what_is_not_a_conversation_is_invalid_input() {
  let model = load(&tiny());
  for messages in [
    "",
    "{",
    "null",
    "7",
    "\"hi\"",
    "{}",
    "[]",
    "[1]",
    "[null]",
    r#"[{"content": "no role"}]"#,
    r#"[{"role": "user"}]"#,
    r#"[{"role": 5, "content": "x"}]"#,
    r#"[{"role": "user", "content": 5}]"#,
    r#"[{"role": "user", "content": [{"text": "no type"}]}]"#,
    r#"[{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]"#,
    r#"[{"role": "assistant", "tool_calls": [{"type": "function"}]}]"#,
    r#"[{"role": "assistant", "tool_calls": 3}]"#,
    r#"[{"role": "user", "content": "lone \ud800 surrogate"}]"#,
    r#"[{"role": "user", "content": "lone \udc00 surrogate"}]"#,
  ] {
    let error = failure(&model, ECHO, &input(messages));
    assert_eq!(error.code(), ErrorCode::InvalidInput, "{messages}: {error}");
  }
}

#[test]
fn what_is_not_a_list_of_tools_is_invalid_input() {
  let model = load(&tiny());
  for tools in [
    "{",
    "7",
    r#"[{"type": "search"}]"#,
    r#"[{"type": "function"}]"#,
    r#"[{"type": "function", "function": {}}]"#,
  ] {
    let error = failure(&model, ECHO, &ChatInput { tools: Some(tools.to_owned()), ..input(TALK) });
    assert_eq!(error.code(), ErrorCode::InvalidInput, "{tools}: {error}");
  }
  let choice = ChatInput { tool_choice: Some("maybe".to_owned()), ..with_tools(TOOL_TALK) };
  assert_eq!(failure(&model, ECHO, &choice).code(), ErrorCode::InvalidInput);
  let kwargs = ChatInput { template_kwargs: Some("[1]".to_owned()), ..input(TALK) };
  assert_eq!(failure(&model, ECHO, &kwargs).code(), ErrorCode::InvalidInput);
}

#[test]
fn json_nested_beyond_reason_is_invalid_input() {
  let model = load(&tiny());
  let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
  let kwargs = ChatInput { template_kwargs: Some(format!("{{\"x\": {nested}}}")), ..input(TALK) };
  assert_eq!(failure(&model, ECHO, &kwargs).code(), ErrorCode::InvalidInput);
  assert_eq!(failure(&model, ECHO, &input(&nested)).code(), ErrorCode::InvalidInput);
}

#[test]
fn a_model_without_a_template_uses_the_plain_form_and_says_so() {
  let model = load(&tiny());
  assert_eq!(model.header().chat_template, None);
  let template = model.chat_template(None).unwrap();
  let rendered = template.render(&input(TALK)).unwrap();
  assert_eq!(
    rendered.prompt,
    "System: Be brief.\n\nUser: Hi 👋\n\nAssistant: Hello!\n\nUser: What is 2+2?\n\nAssistant:"
  );
  assert!(rendered.plain);
  assert!(rendered.rules.stops.iter().any(|stop| stop == "\nUser:"), "{:?}", rendered.rules.stops);
  assert_eq!(rendered.rules.reasoning, None);
  let closed = template.render(&ChatInput { add_generation_prompt: false, ..input(TALK) }).unwrap();
  assert!(closed.prompt.ends_with("User: What is 2+2?\n\n"), "{}", closed.prompt);
  let tools = template.render(&with_tools(TOOL_TALK)).unwrap();
  assert!(tools.prompt.contains("Tool: 12 degrees\n\n"), "{}", tools.prompt);
  let named = render(&model, ECHO, &input(TALK)).unwrap();
  assert!(!named.plain && named.rules.stops.is_empty());
}

#[test]
fn reasoning_is_open_exactly_where_the_generation_prompt_opens_it() {
  let model = load(&tiny());
  let rendered = render(&model, OPENING, &input(&user("Hi"))).unwrap();
  assert!(rendered.prompt.ends_with("<|im_start|>assistant\n<think>\n"), "{}", rendered.prompt);
  let tags = rendered.rules.reasoning.unwrap();
  assert_eq!((tags.start.as_str(), tags.open), ("<think>", true));
  let closed = ChatInput { add_generation_prompt: false, ..input(&user("Hi")) };
  assert!(!render(&model, OPENING, &closed).unwrap().rules.reasoning.unwrap().open);
  let talk_of_it = render(&model, &published("Qwen-Qwen3-0.6B"), &input(&user("what is <think>?"))).unwrap();
  assert!(!talk_of_it.rules.reasoning.unwrap().open, "a user who writes the tag opens nothing");
}

fn begins(model: &Model, rendered: &str) -> (usize, Vec<Token>) {
  let tokens = model.tokenize(rendered, true, true).unwrap();
  let bos = model.specials().bos.unwrap();
  (tokens.iter().take_while(|token| **token == bos).count(), tokens)
}

#[test]
fn a_prompt_has_one_begin_token_where_the_vocabulary_adds_it_and_the_template_writes_it() {
  let model = load(&tiny());
  let bos = model.specials().bos.unwrap();
  assert_eq!(model.tokenize("x", true, true).unwrap()[0], bos, "this vocabulary adds a begin token");
  for name in ["google-gemma-2-2b-it", "google-gemma-4-31B-it", "meta-llama-Llama-3.1-8B-Instruct"] {
    let rendered = prompt(&model, &published(name), &input(TALK));
    assert!(!rendered.starts_with("<s>"), "{name}: {rendered}");
    assert_eq!(begins(&model, &rendered).0, 1, "{name}");
  }
  // A template that leaves it to the vocabulary gets one as well.
  assert_eq!(begins(&model, &prompt(&model, ECHO, &input(TALK))).0, 1);
}

#[test]
fn a_template_writes_the_begin_token_where_the_vocabulary_does_not_add_it() {
  let model = load(&smollm2());
  let bos = model.specials().bos.unwrap();
  assert_ne!(model.tokenize("x", true, true).unwrap()[0], bos, "this vocabulary adds no begin token");
  let template = "{{ bos_token }}{{ messages[0].content }}";
  let rendered = prompt(&model, template, &input(&user("Hello")));
  assert_eq!(rendered, format!("{}Hello", model.token_text(bos)));
  assert_eq!(begins(&model, &rendered).0, 1);
}

#[test]
fn unusual_characters_pass_unchanged() {
  let model = load(&tiny());
  for text in [
    "a\0b",
    "\0",
    "👩‍👩‍👧‍👦 e\u{301} 漢字",
    "\u{FEFF}bom",
    "tab\tand \"quotes\" \\ and {{ braces }} {% raw %}",
    "\u{7f}\u{1b}[0m",
  ] {
    assert_eq!(prompt(&model, ECHO, &input(&user(text))), format!("user={text};"), "{text:?}");
  }
  let escaped = r#"[{"role": "user", "content": "\ud83e\udd80 \u0000"}]"#;
  assert_eq!(prompt(&model, ECHO, &input(escaped)), "user=🦀 \0;");
  let nul = prompt(&model, ECHO, &input(&user("a\0b")));
  let tokens = model.tokenize(&nul, false, true).unwrap();
  assert_eq!(model.detokenize(&tokens, false).unwrap(), nul);
}

#[test]
fn a_raw_nul_in_json_and_a_nul_in_a_template_are_refused() {
  let model = load(&tiny());
  let raw = "[{\"role\": \"user\", \"content\": \"a\0b\"}]";
  assert_eq!(failure(&model, ECHO, &input(raw)).code(), ErrorCode::InvalidInput);
  assert_eq!(failure(&model, "{{ 'a\0b' }}", &input(TALK)).code(), ErrorCode::TemplateInvalid);
}

#[test]
fn very_long_conversations_render_whole() {
  let model = load(&tiny());
  let turn = |index: usize| {
    let role = if index.is_multiple_of(2) { "user" } else { "assistant" };
    format!(r#"{{"role": "{role}", "content": "message {index}"}}"#)
  };
  let messages: Vec<String> = (0..2001).map(turn).collect();
  let rendered =
    prompt(&model, &published("Qwen-Qwen2.5-7B-Instruct"), &input(&format!("[{}]", messages.join(","))));
  assert_eq!(rendered.matches("<|im_end|>").count(), 2002);
  assert!(rendered.ends_with("user\nmessage 2000<|im_end|>\n<|im_start|>assistant\n"));
  let long = "word ".repeat(200_000);
  assert_eq!(prompt(&model, ECHO, &input(&user(&long))).len(), long.len() + "user=;".len());
}
