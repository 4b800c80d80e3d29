//! Rules of chat that no template states: the plain form, where reasoning begins and ends, how an answer is generated.

mod answer;

pub use answer::{AnswerRules, CallGrammar};

use crate::text::ReasoningTags;

/// Used for a model without a chat template: `System: ...`, `User: ...`, `Assistant: ...`, a blank line between turns.
pub const PLAIN_TEMPLATE: &str = "{%- for message in messages -%}\n\
  {{- (message.role | capitalize) + ': ' + message.content + '\\n\\n' -}}\n\
  {%- endfor -%}\n\
  {%- if add_generation_prompt -%}{{- 'Assistant:' -}}{%- endif -%}";

/// Stop string of the plain form: the model must not write the user's next turn.
pub const PLAIN_STOP: &str = "\nUser:";

/// The tags between which a model reasons. `start` and `ends` are what the template declares; a template that merely
/// mentions `<think>` is taken to mean that pair. None when the model does not mark reasoning.
pub fn reasoning_tags(
  start: &str,
  ends: &[String],
  generation_prompt: &str,
  template: &str,
) -> Option<ReasoningTags> {
  let (start, ends) = if !start.is_empty() && !ends.is_empty() {
    (start.to_owned(), ends.to_vec())
  } else if template.contains("<think>") {
    ("<think>".to_owned(), vec!["</think>".to_owned()])
  } else {
    return None;
  };
  let open = generation_prompt.rfind(&start).is_some_and(|opened| {
    let rest = &generation_prompt[opened + start.len()..];
    !ends.iter().any(|end| rest.contains(end.trim()))
  });
  Some(ReasoningTags { start, ends, open })
}

#[cfg(test)]
mod tests {
  use super::*;

  fn ends() -> Vec<String> {
    vec!["</think>".to_owned()]
  }

  #[test]
  fn a_generation_prompt_that_opens_a_block_starts_inside_it() {
    let tags = reasoning_tags("<think>", &ends(), "<|im_start|>assistant\n<think>\n", "").unwrap();
    assert!(tags.open);
  }

  #[test]
  fn an_empty_block_in_the_generation_prompt_is_closed() {
    let tags = reasoning_tags("<think>", &ends(), "<think>\n\n</think>\n\n", "").unwrap();
    assert!(!tags.open);
  }

  #[test]
  fn a_template_that_only_mentions_the_tag_gets_the_usual_pair() {
    let tags = reasoning_tags("", &[], "", "{{ content.split('</think>') }} <think>").unwrap();
    assert_eq!(tags.ends, ends());
  }

  #[test]
  fn a_template_without_reasoning_has_no_tags() {
    assert_eq!(reasoning_tags("", &[], "", "{{ messages }}"), None);
  }
}
