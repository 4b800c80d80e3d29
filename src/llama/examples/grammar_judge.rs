//! Judges texts by grammars, for bench/schema-suite.mjs: reads the JSON lines of a file, answers each with a JSON line.
//!
//! `{"kind": "schema" | "gbnf", "source": "...", "texts": [["...", ...], ...]}` asks whether our grammar admits one text
//! of each list; `{"kind": "convert", "source": "..."}` asks for the GBNF that llama.cpp makes of a schema.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, reason = "a program for developers")]

use std::io::BufRead as _;

use local_inference_core::decoder::Token;
use local_inference_core::grammar::{ConstraintSource, GrammarEngine, Lexicon};
use serde::{Deserialize, Serialize};

const END: Token = 256;

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Job {
  Schema { source: String, texts: Vec<Vec<String>> },
  Gbnf { source: String, texts: Vec<Vec<String>> },
  Convert { source: String },
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
  #[serde(skip_serializing_if = "Option::is_none")]
  refused: Option<String>,
  /// What of a schema the grammar does not enforce.
  unenforced: Vec<String>,
  accepted: Vec<bool>,
  #[serde(skip_serializing_if = "Option::is_none")]
  gbnf: Option<String>,
}

fn main() {
  let path = std::env::args().nth(1).expect("a file of JSON lines");
  let engine = engine();
  for line in std::io::BufReader::new(std::fs::File::open(path).unwrap()).lines() {
    let answer = match serde_json::from_str(&line.unwrap()).unwrap() {
      Job::Schema { source, texts } => judge(&engine, &ConstraintSource::Schema(source), &texts),
      Job::Gbnf { source, texts } => judge(&engine, &ConstraintSource::Gbnf(source), &texts),
      Job::Convert { source } => match llama_cpp_2::json_schema_to_grammar(&source) {
        Ok(gbnf) => Answer { gbnf: Some(gbnf), ..Answer::default() },
        Err(error) => refusal(error.to_string()),
      },
    };
    println!("{}", serde_json::to_string(&answer).unwrap());
  }
}

fn refusal(message: String) -> Answer {
  Answer { refused: Some(message), ..Answer::default() }
}

fn judge(engine: &GrammarEngine, source: &ConstraintSource, texts: &[Vec<String>]) -> Answer {
  match engine.compile(source, &[]) {
    Err(error) => refusal(error.to_string()),
    Ok(compiled) => Answer {
      unenforced: compiled.warnings().to_vec(),
      accepted: texts.iter().map(|forms| forms.iter().any(|text| admits(engine, source, text))).collect(),
      ..Answer::default()
    },
  }
}

fn admits(engine: &GrammarEngine, source: &ConstraintSource, text: &str) -> bool {
  let mut constraint = engine.start(source, &[]).unwrap();
  for byte in text.bytes() {
    let token = Token::from(byte);
    if !constraint.allows(token).unwrap_or(false) || constraint.accept(token).is_err() {
      return false;
    }
  }
  constraint.can_end()
}

fn engine() -> GrammarEngine {
  let words = (0..=u8::MAX).map(|byte| vec![byte]).chain([Vec::new()]).collect();
  let tokenize = Box::new(|text: &str| text.bytes().map(Token::from).collect());
  GrammarEngine::new(Lexicon { words, control: Vec::new(), ends: vec![END], tokenize }).unwrap()
}
