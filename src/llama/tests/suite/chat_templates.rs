//! Prompts of widely used models, as their formats define them.

use crate::support::chat::{
  PARTS, QWEN_TOOL_TALK, TALK, TOOL_TALK, input, prompt, published, qwen_tools, render, with_tools,
};
use crate::support::{load, smollm2, tiny};
use local_inference_llama::chat::ChatInput;

const CHATML_TALK: &str = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi 👋<|im_end|>\n\
                           <|im_start|>assistant\nHello!<|im_end|>\n<|im_start|>user\nWhat is 2+2?<|im_end|>\n";

const GEMMA3_STYLE: &str = "{{ bos_token }}\
  {%- if messages[0].role == 'system' -%}\
    {%- set content = messages[0].content -%}\
    {%- set lead = (content if content is string else content[0].text) + '\\n\\n' -%}\
    {%- set turns = messages[1:] -%}\
  {%- else -%}{%- set lead = '' -%}{%- set turns = messages -%}{%- endif -%}\
  {%- for message in turns -%}\
    {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' -}}\
    {{- lead if loop.first else '' -}}\
    {%- if message.content is string -%}{{- message.content | trim -}}\
    {%- else -%}{%- for part in message.content -%}{{- part.text | trim -}}{%- endfor -%}{%- endif -%}\
    {{- '<end_of_turn>\\n' -}}\
  {%- endfor -%}\
  {%- if add_generation_prompt -%}{{- '<start_of_turn>model\\n' -}}{%- endif -%}";

fn no_thinking(messages: &str) -> ChatInput {
  ChatInput { enable_thinking: false, ..input(messages) }
}

fn no_answer(messages: &str) -> ChatInput {
  ChatInput { add_generation_prompt: false, ..input(messages) }
}

#[test]
fn gemma_4_marks_turns_and_closes_the_thought_channel_when_thinking_is_off() {
  let (model, template) = (load(&tiny()), published("google-gemma-4-31B-it"));
  let rendered = render(&model, &template, &no_thinking(TALK)).unwrap();
  let turns = "Be brief.<turn|>\n<|turn>user\nHi 👋<turn|>\n<|turn>model\nHello!<turn|>\n\
               <|turn>user\nWhat is 2+2?<turn|>\n";
  assert_eq!(rendered.prompt, format!("<|turn>system\n{turns}<|turn>model\n<|channel>thought\n<channel|>"));
  let tags = rendered.rules.reasoning.unwrap();
  assert_eq!(
    (tags.start.as_str(), tags.ends, tags.open),
    ("<|channel>thought", vec!["<channel|>".to_owned()], false)
  );
  assert_eq!(
    prompt(&model, &template, &input(TALK)),
    format!("<|turn>system\n<|think|>\n{turns}<|turn>model\n")
  );
  let closed = ChatInput { add_generation_prompt: false, ..no_thinking(TALK) };
  assert_eq!(prompt(&model, &template, &closed), format!("<|turn>system\n{turns}"));
}

#[test]
fn gemma_4_declares_tools_and_puts_results_behind_the_call() {
  let (model, template) = (load(&tiny()), published("google-gemma-4-31B-it"));
  let asked = ChatInput { enable_thinking: false, ..with_tools(TOOL_TALK) };
  let rendered = render(&model, &template, &asked).unwrap();
  assert_eq!(
    rendered.prompt,
    "<|turn>system\n<|tool>declaration:weather{description:<|\"|>Current weather<|\"|>,parameters:{properties:{city:{\
     description:<|\"|>City name<|\"|>,type:<|\"|>STRING<|\"|>}},required:[<|\"|>city<|\"|>],type:<|\"|>OBJECT<|\"|>}}\
     <tool|><turn|>\n<|turn>user\nWeather in Oslo?<turn|>\n<|turn>model\n<|tool_call>call:weather{city:<|\"|>Oslo\
     <|\"|>}<tool_call|><|tool_response>response:weather{value:<|\"|>12 degrees<|\"|>}<tool_response|>"
  );
  assert_eq!(rendered.format, "peg-gemma4");
  assert!(rendered.rules.preserved_tokens.iter().any(|token| token == "<|tool_call>"));
  assert!(rendered.rules.calls.is_some_and(|grammar| grammar.source.contains("weather")));
}

#[test]
fn gemma_2_merges_the_system_message_into_the_first_user_turn() {
  let (model, template) = (load(&tiny()), published("google-gemma-2-2b-it"));
  let turns = "<start_of_turn>user\nBe brief.\nHi 👋<end_of_turn>\n<start_of_turn>model\nHello!<end_of_turn>\n\
               <start_of_turn>user\nWhat is 2+2?<end_of_turn>\n";
  assert_eq!(prompt(&model, &template, &input(TALK)), format!("{turns}<start_of_turn>model\n"));
  assert_eq!(prompt(&model, &template, &no_answer(TALK)), turns);
}

#[test]
fn gemma_3_leads_the_first_user_turn_with_the_system_message() {
  let model = load(&tiny());
  assert_eq!(
    prompt(&model, GEMMA3_STYLE, &input(TALK)),
    "<start_of_turn>user\nBe brief.\n\nHi 👋<end_of_turn>\n<start_of_turn>model\nHello!<end_of_turn>\n\
     <start_of_turn>user\nWhat is 2+2?<end_of_turn>\n<start_of_turn>model\n"
  );
}

#[test]
fn qwen_2_5_is_chatml_with_a_system_message_of_its_own() {
  let (model, template) = (load(&tiny()), published("Qwen-Qwen2.5-7B-Instruct"));
  let rendered = render(&model, &template, &input(TALK)).unwrap();
  assert_eq!(rendered.prompt, format!("{CHATML_TALK}<|im_start|>assistant\n"));
  assert_eq!((rendered.rules.reasoning, rendered.plain), (None, false));
  assert_eq!(prompt(&model, &template, &no_answer(TALK)), CHATML_TALK);
  assert_eq!(
    prompt(&model, &template, &input(r#"[{"role": "user", "content": "Hi"}]"#)),
    "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n\
     <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
  );
}

#[test]
fn qwen_2_5_lists_tools_and_wraps_calls_and_results() {
  let (model, template) = (load(&tiny()), published("Qwen-Qwen2.5-7B-Instruct"));
  let rendered = render(&model, &template, &with_tools(TOOL_TALK)).unwrap();
  assert_eq!(
    rendered.prompt,
    format!(
      "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.\n\n{}{QWEN_TOOL_TALK}\
       <|im_start|>assistant\n",
      qwen_tools()
    )
  );
  assert!(rendered.rules.calls.is_some_and(|grammar| grammar.source.contains("weather")));
  let unused = ChatInput { tool_choice: Some("none".to_owned()), ..with_tools(TOOL_TALK) };
  assert_eq!(render(&model, &template, &unused).unwrap().rules.calls, None);
}

#[test]
fn qwen_3_answers_without_reasoning_by_an_empty_block() {
  let (model, template) = (load(&tiny()), published("Qwen-Qwen3-0.6B"));
  let rendered = render(&model, &template, &input(TALK)).unwrap();
  assert_eq!(rendered.prompt, format!("{CHATML_TALK}<|im_start|>assistant\n"));
  assert!(rendered.supports_thinking);
  let tags = rendered.rules.reasoning.unwrap();
  assert_eq!((tags.start.as_str(), tags.ends, tags.open), ("<think>", vec!["</think>".to_owned()], false));

  let rendered = render(&model, &template, &no_thinking(TALK)).unwrap();
  assert_eq!(rendered.prompt, format!("{CHATML_TALK}<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  assert!(!rendered.rules.reasoning.unwrap().open, "an empty block is closed");
}

#[test]
fn qwen_3_forgets_the_reasoning_of_earlier_turns() {
  let (model, template) = (load(&tiny()), published("Qwen-Qwen3-0.6B"));
  let talk = |answer: &str| {
    format!(r#"[{{"role": "user", "content": "Hi"}}, {answer}, {{"role": "user", "content": "Go"}}]"#)
  };
  let expected = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello!<|im_end|>\n\
                  <|im_start|>user\nGo<|im_end|>\n<|im_start|>assistant\n";
  let inline = r#"{"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello!"}"#;
  assert_eq!(prompt(&model, &template, &input(&talk(inline))), expected);
  let apart = r#"{"role": "assistant", "content": "Hello!", "reasoning_content": "hm"}"#;
  assert_eq!(prompt(&model, &template, &input(&talk(apart))), expected);
}

#[test]
fn qwen_3_lists_tools_without_a_system_message() {
  let (model, template) = (load(&tiny()), published("Qwen-Qwen3-0.6B"));
  assert_eq!(
    prompt(&model, &template, &with_tools(TOOL_TALK)),
    format!("<|im_start|>system\n{}{QWEN_TOOL_TALK}<|im_start|>assistant\n", qwen_tools())
  );
}

#[test]
fn llama_3_1_dates_its_system_turn() {
  let (model, template) = (load(&tiny()), published("meta-llama-Llama-3.1-8B-Instruct"));
  let turn =
    |role: &str, text: &str| format!("<|start_header_id|>{role}<|end_header_id|>\n\n{text}<|eot_id|>");
  let turns = [
    turn("system", "Cutting Knowledge Date: December 2023\nToday Date: 1 Jan 2030\n\nBe brief."),
    turn("user", "Hi 👋"),
    turn("assistant", "Hello!"),
    turn("user", "What is 2+2?"),
  ]
  .concat();
  let dated =
    ChatInput { template_kwargs: Some(r#"{"date_string": "1 Jan 2030"}"#.to_owned()), ..input(TALK) };
  assert_eq!(
    prompt(&model, &template, &dated),
    format!("{turns}<|start_header_id|>assistant<|end_header_id|>\n\n")
  );
  let closed = ChatInput { add_generation_prompt: false, ..dated };
  assert_eq!(prompt(&model, &template, &closed), turns);
}

#[test]
fn llama_3_1_takes_tool_calls_and_results() {
  let (model, template) = (load(&tiny()), published("meta-llama-Llama-3.1-8B-Instruct"));
  let prompt = prompt(&model, &template, &with_tools(TOOL_TALK));
  assert!(prompt.contains("\"name\": \"weather\""), "{prompt}");
  let end = "Weather in Oslo?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n\
             {\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}<|eot_id|>\
             <|start_header_id|>ipython<|end_header_id|>\n\n\"12 degrees\"<|eot_id|>\
             <|start_header_id|>assistant<|end_header_id|>\n\n";
  assert!(prompt.ends_with(end), "{prompt}");
}

#[test]
fn mistral_small_ends_answers_with_the_end_token_and_needs_no_generation_prompt() {
  let (model, template) = (load(&tiny()), published("Mistral-Small-3.2-24B-Instruct-2506"));
  let expected =
    "[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Hi 👋[/INST]Hello!</s>[INST]What is 2+2?[/INST]";
  assert_eq!(prompt(&model, &template, &input(TALK)), expected);
  assert_eq!(prompt(&model, &template, &no_answer(TALK)), expected);
}

#[test]
fn mistral_small_identifies_calls_and_results() {
  let (model, template) = (load(&tiny()), published("Mistral-Small-3.2-24B-Instruct-2506"));
  let prompt = prompt(&model, &template, &with_tools(TOOL_TALK));
  let end = "[INST]Weather in Oslo?[/INST][TOOL_CALLS]weather[CALL_ID]abcdefghi[ARGS]{\"city\": \"Oslo\"}</s>\
             [TOOL_RESULTS]abcdefghi[TOOL_CONTENT]12 degrees[/TOOL_RESULTS]";
  assert!(prompt.ends_with(end), "{prompt}");
  assert!(
    prompt.contains(&format!("[AVAILABLE_TOOLS][{}][/AVAILABLE_TOOLS]", crate::support::chat::TOOL_JSON)),
    "{prompt}"
  );
}

#[test]
fn smollm2_brings_its_own_chatml() {
  let model = load(&smollm2());
  let own = model.chat_template(None).unwrap();
  let rendered = own.render(&input(TALK)).unwrap();
  assert_eq!(rendered.prompt, format!("{CHATML_TALK}<|im_start|>assistant\n"));
  assert!(!rendered.plain && rendered.rules.stops.is_empty() && rendered.rules.reasoning.is_none());
  assert_eq!(
    own.render(&input(r#"[{"role": "user", "content": "Hi"}]"#)).unwrap().prompt,
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n\
     <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
  );
}

#[test]
fn text_parts_are_joined_as_each_template_takes_them() {
  let model = load(&tiny());
  let user = |text: &str| format!("<start_of_turn>user\n{text}<end_of_turn>\n<start_of_turn>model\n");
  assert_eq!(prompt(&model, GEMMA3_STYLE, &input(PARTS)), user("OneTwo"));
  assert_eq!(prompt(&model, &published("google-gemma-2-2b-it"), &input(PARTS)), user("One\nTwo"));
  let mistral = prompt(&model, &published("Mistral-Small-3.2-24B-Instruct-2506"), &input(PARTS));
  assert!(mistral.ends_with("[INST]OneTwo[/INST]"), "{mistral}");
  assert_eq!(
    prompt(&model, &published("google-gemma-4-31B-it"), &no_thinking(PARTS)),
    "<|turn>user\nOneTwo<turn|>\n<|turn>model\n<|channel>thought\n<channel|>"
  );
}
