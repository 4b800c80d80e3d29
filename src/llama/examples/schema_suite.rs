//! The official JSON-Schema-Test-Suite through two ways to constrain an answer: our grammars, and those that llama.cpp
//! makes of a schema. Prints the table of docs/structured-output.md.
//!
//! `cargo run --release -p local-inference-llama --example schema_suite -- JSON-Schema-Test-Suite/tests/draft2020-12`
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, reason = "a program for developers")]

use std::collections::BTreeMap;
use std::path::Path;

use local_inference_core::decoder::Token;
use local_inference_core::grammar::{Compiled, ConstraintSource, GrammarEngine, Lexicon};
use serde_json::Value;

const END: Token = 256;

/// What became of one way to enforce the schemas of a file.
#[derive(Default, Clone, Copy)]
struct Score {
  /// Schemas that were refused with an error.
  refused: usize,
  /// Schemas of which a part is not enforced, and that says so.
  partial: usize,
  valid_accepted: usize,
  /// Invalid instances that a grammar admits although nothing says that it does not enforce the schema.
  wrong: usize,
  /// Instances that were judged by a schema that is enforced as far as is known.
  valid: usize,
  invalid: usize,
}

fn main() {
  let folder = std::env::args().nth(1).expect("the folder of a draft's tests");
  let engine = engine();
  let mut rows: BTreeMap<String, (usize, Score, Score)> = BTreeMap::new();
  for entry in std::fs::read_dir(folder).unwrap() {
    let path = entry.unwrap().path();
    if path.extension().is_some_and(|extension| extension == "json") {
      rows.insert(path.file_stem().unwrap().to_string_lossy().into_owned(), file(&engine, &path));
    }
  }
  println!(
    "| keyword | schemas | refused | partly, and says so | valid accepted | wrongly accepted | llama.cpp: refused | valid accepted | wrongly accepted |"
  );
  println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
  let (mut groups, mut ours, mut theirs) = (0, Score::default(), Score::default());
  for (name, (count, own, other)) in rows {
    print_row(&name, count, own, other);
    groups += count;
    ours.add(own);
    theirs.add(other);
  }
  print_row("**all**", groups, ours, theirs);
}

fn print_row(name: &str, count: usize, ours: Score, theirs: Score) {
  println!(
    "| {name} | {count} | {} | {} | {}/{} | {}/{} | {} | {}/{} | {}/{} |",
    ours.refused,
    ours.partial,
    ours.valid_accepted,
    ours.valid,
    ours.wrong,
    ours.invalid,
    theirs.refused,
    theirs.valid_accepted,
    theirs.valid,
    theirs.wrong,
    theirs.invalid,
  );
}

impl Score {
  fn add(&mut self, other: Self) {
    self.refused += other.refused;
    self.partial += other.partial;
    self.valid_accepted += other.valid_accepted;
    self.valid += other.valid;
    self.wrong += other.wrong;
    self.invalid += other.invalid;
  }

  fn judge(&mut self, accepted: bool, valid: bool) {
    if valid {
      self.valid += 1;
      self.valid_accepted += usize::from(accepted);
    } else {
      self.invalid += 1;
      self.wrong += usize::from(accepted);
    }
  }
}

fn file(engine: &GrammarEngine, path: &Path) -> (usize, Score, Score) {
  let groups: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
  let (mut ours, mut theirs) = (Score::default(), Score::default());
  for group in &groups {
    let schema = group["schema"].to_string();
    let own = ConstraintSource::Schema(schema.clone());
    let compiled = engine.compile(&own, &[]);
    let partial =
      compiled.as_ref().is_ok_and(|compiled: &std::sync::Arc<Compiled>| !compiled.warnings().is_empty());
    ours.refused += usize::from(compiled.is_err());
    ours.partial += usize::from(partial);
    let gbnf = llama_cpp_2::json_schema_to_grammar(&schema).ok().map(ConstraintSource::Gbnf);
    let gbnf = gbnf.filter(|source| engine.compile(source, &[]).is_ok());
    theirs.refused += usize::from(gbnf.is_none());
    for test in group["tests"].as_array().unwrap() {
      let (text, valid) = (spaced(&test["data"]), test["valid"].as_bool().unwrap());
      if compiled.is_ok() && (valid || !partial) {
        ours.judge(accepts(engine, &own, &text), valid);
      }
      if let Some(source) = &gbnf {
        theirs.judge(accepts(engine, source, &text), valid);
      }
    }
  }
  (groups.len(), ours, theirs)
}

fn accepts(engine: &GrammarEngine, source: &ConstraintSource, text: &str) -> bool {
  let mut constraint = engine.start(source, &[]).unwrap();
  for byte in text.bytes() {
    let token = Token::from(byte);
    if !constraint.allows(token).unwrap_or(false) || constraint.accept(token).is_err() {
      return false;
    }
  }
  constraint.can_end()
}

/// JSON with the separators that our grammars write.
fn spaced(value: &Value) -> String {
  match value {
    Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
    Value::Object(object) => {
      let fields: Vec<_> = object
        .iter()
        .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), spaced(value)))
        .collect();
      format!("{{{}}}", fields.join(", "))
    }
    other => other.to_string(),
  }
}

fn engine() -> GrammarEngine {
  let words = (0..=u8::MAX).map(|byte| vec![byte]).chain([Vec::new()]).collect();
  let tokenize = Box::new(|text: &str| text.bytes().map(Token::from).collect());
  GrammarEngine::new(Lexicon { words, control: Vec::new(), ends: vec![END], tokenize }).unwrap()
}
