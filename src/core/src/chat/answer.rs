//! What a rendered prompt says about the answer to it.

use crate::grammar::{ConstraintOptions, ConstraintSource, Trigger};
use crate::options::GenerateOptions;
use crate::text::ReasoningTags;

/// What a chat template fixes about the answers to its prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerRules {
  /// Strings that end the answer.
  pub stops: Vec<String>,
  /// Where reasoning begins and ends.
  pub reasoning: Option<ReasoningTags>,
  /// Special tokens that are part of the answer's format.
  pub preserved_tokens: Vec<String>,
  /// The form of tool calls, where the template constrains them.
  pub calls: Option<CallGrammar>,
}

/// A template's grammar of tool calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallGrammar {
  /// GBNF.
  pub source: String,
  /// Whether the answer is free until one of the triggers appears. Otherwise the grammar describes the whole output.
  pub lazy: bool,
  /// Texts at which a lazy grammar begins.
  pub words: Vec<String>,
  /// Regular expressions at which a lazy grammar begins.
  pub patterns: Vec<String>,
  /// The end of the prompt, which a grammar that is not lazy describes as well.
  pub prefix: String,
}

impl AnswerRules {
  /// Adds the template's rules to the options of a request. The request's own constraint outranks the template's. A
  /// prefilled answer has begun: its reasoning, if any, is over.
  pub fn apply(&self, options: &mut GenerateOptions, prefilled: bool) {
    options.text.stops.extend(self.stops.iter().cloned());
    options.text.reasoning = self.reasoning.clone().filter(|_| !prefilled);
    options.preserved_tokens.extend(self.preserved_tokens.iter().cloned());
    if options.constraint.is_none() {
      options.constraint = self.calls.as_ref().and_then(CallGrammar::constraint);
    }
  }

  /// The output as the model wrote it, from its answer and the reasoning that was taken out of it.
  pub fn output(&self, answer: &str, reasoning: &str) -> String {
    let Some(tags) = self.reasoning.as_ref().filter(|tags| !reasoning.is_empty() || tags.open) else {
      return format!("{reasoning}{answer}");
    };
    let start = if tags.open { "" } else { &tags.start };
    let end = tags.ends.first().filter(|_| !answer.is_empty()).map_or("", String::as_str);
    format!("{start}{reasoning}{end}{answer}")
  }
}

impl CallGrammar {
  /// None for a lazy grammar that nothing would trigger.
  fn constraint(&self) -> Option<ConstraintOptions> {
    let source = ConstraintSource::Gbnf(self.source.clone());
    if !self.lazy {
      return Some(ConstraintOptions { prefix: Some(self.prefix.clone()), ..ConstraintOptions::new(source) });
    }
    let words = self.words.iter().cloned().map(Trigger::Text);
    let patterns =
      self.patterns.iter().filter(|pattern| is_supported(pattern)).cloned().map(Trigger::Pattern);
    let triggers: Vec<_> = words.chain(patterns).collect();
    (!triggers.is_empty()).then(|| ConstraintOptions { triggers, ..ConstraintOptions::new(source) })
  }
}

/// Patterns that look around are of another dialect of regular expressions.
fn is_supported(pattern: &str) -> bool {
  !["(?=", "(?!", "(?<"].iter().any(|look| pattern.contains(look))
}

#[cfg(test)]
mod tests {
  use super::*;

  fn rules() -> AnswerRules {
    AnswerRules {
      stops: vec!["<end>".to_owned()],
      preserved_tokens: vec!["<tool>".to_owned()],
      ..AnswerRules::default()
    }
  }

  fn thinking(open: bool) -> AnswerRules {
    let tags = ReasoningTags { start: "<think>".to_owned(), ends: vec!["</think>".to_owned()], open };
    AnswerRules { reasoning: Some(tags), ..rules() }
  }

  fn calling(calls: CallGrammar) -> AnswerRules {
    AnswerRules { calls: Some(CallGrammar { source: "root ::= call".to_owned(), ..calls }), ..rules() }
  }

  fn applied(rules: &AnswerRules, mut options: GenerateOptions, prefilled: bool) -> GenerateOptions {
    rules.apply(&mut options, prefilled);
    options
  }

  #[test]
  fn stops_of_the_template_come_after_those_of_the_request() {
    let mut options = GenerateOptions::default();
    options.text.stops = vec!["\n".to_owned()];
    let options = applied(&rules(), options, false);
    assert_eq!(options.text.stops, ["\n", "<end>"]);
    assert_eq!(options.preserved_tokens, ["<tool>"]);
    assert_eq!((options.text.reasoning, options.constraint), (None, None));
  }

  #[test]
  fn a_prefilled_answer_does_not_reason() {
    let reasoning =
      |prefilled| applied(&thinking(true), GenerateOptions::default(), prefilled).text.reasoning;
    assert_eq!(reasoning(false), thinking(true).reasoning);
    assert_eq!(reasoning(true), None);
  }

  #[test]
  fn a_call_that_must_happen_follows_the_grammar_from_the_end_of_the_prompt_on() {
    let calls = CallGrammar { prefix: "<assistant>".to_owned(), ..CallGrammar::default() };
    let constraint = applied(&calling(calls), GenerateOptions::default(), false).constraint.unwrap();
    assert_eq!(constraint.source, ConstraintSource::Gbnf("root ::= call".to_owned()));
    assert_eq!((constraint.prefix.as_deref(), constraint.triggers), (Some("<assistant>"), vec![]));
  }

  #[test]
  fn a_call_that_may_happen_follows_it_from_its_trigger_on() {
    let lazy = CallGrammar { lazy: true, prefix: "<assistant>".to_owned(), ..CallGrammar::default() };
    let triggered = CallGrammar {
      words: vec!["<call>".to_owned()],
      patterns: vec![">>>(?!all)".to_owned(), "^to$".to_owned(), "(?<=a)b".to_owned(), "(?=a)".to_owned()],
      ..lazy.clone()
    };
    let constraint = applied(&calling(triggered), GenerateOptions::default(), false).constraint.unwrap();
    let expected = [Trigger::Text("<call>".to_owned()), Trigger::Pattern("^to$".to_owned())];
    assert_eq!((constraint.prefix, constraint.triggers.as_slice()), (None, expected.as_slice()));
    assert_eq!(applied(&calling(lazy), GenerateOptions::default(), false).constraint, None);
  }

  #[test]
  fn the_constraint_of_the_request_outranks_the_template() {
    let own = ConstraintOptions::new(ConstraintSource::Gbnf("root ::= mine".to_owned()));
    let options = GenerateOptions { constraint: Some(own.clone()), ..GenerateOptions::default() };
    let options = applied(&calling(CallGrammar::default()), options, false);
    assert_eq!(options.constraint, Some(own));
  }

  #[test]
  fn the_output_is_what_the_model_wrote() {
    assert_eq!(rules().output("answer", ""), "answer");
    assert_eq!(thinking(false).output("answer", ""), "answer");
    assert_eq!(thinking(false).output("answer", "why"), "<think>why</think>answer");
    assert_eq!(thinking(false).output("", "why"), "<think>why");
    assert_eq!(thinking(true).output("answer", "why"), "why</think>answer");
    assert_eq!(thinking(true).output("answer", ""), "</think>answer");
    assert_eq!(thinking(true).output("", ""), "");
  }
}
