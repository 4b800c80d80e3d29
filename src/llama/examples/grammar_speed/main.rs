//! What following a schema costs with real vocabularies, for our grammars and llama.cpp's (docs/structured-output.md).
//!
//! `node scripts/cargo.mjs run --release -p local-inference-llama --example grammar_speed -- MODEL.gguf...`
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, reason = "a program for developers")]

use std::time::{Duration, Instant};

use llama_cpp_2::model::{LlamaModel, params::LlamaModelParams};
use llama_cpp_2::token::{LlamaToken, data::LlamaTokenData, data_array::LlamaTokenDataArray};
use llama_cpp_2::{llama_backend::LlamaBackend, sampling::LlamaSampler};
use local_inference_core::grammar::{ConstraintSource, GrammarEngine, Lexicon};

/// Passes over the answer, each with a grammar of its own; the fastest counts, because other programs only slow it down.
const ROUNDS: usize = 5;

const SCHEMA: &str = include_str!("schema.json");

/// What a model would write; its blanks are those of our grammars.
const ANSWER: &str = include_str!("answer.txt");

struct Pass {
  compile: Duration,
  check: Duration,
  judge: Duration,
  worst: Duration,
}

fn main() {
  let mut backend = LlamaBackend::init().unwrap();
  backend.void_logs();
  println!(
    "| vocabulary | tokens | engine | prepare | compile | check and take a token | judge all | worst |"
  );
  println!("|---|---:|---|---:|---:|---:|---:|---:|");
  for path in std::env::args().skip(1) {
    let params = LlamaModelParams::default().with_vocab_only(true);
    // The grammar engine keeps what it is given for as long as the process lives.
    let model: &'static LlamaModel =
      Box::leak(Box::new(LlamaModel::load_from_file(&backend, &path, &params).unwrap()));
    let answer = model.vocab().tokenize(ANSWER.trim_end().as_bytes(), false, false);
    let started = Instant::now();
    let engine = GrammarEngine::new(lexicon(model)).unwrap();
    let prepare = format!("{:.1} s", started.elapsed().as_secs_f64());
    let own: Vec<_> = (0..ROUNDS).map(|round| ours(&engine, &answer, round)).collect();
    print_row(model, &answer, "ours", &prepare, &own);
    let others: Vec<_> = (0..ROUNDS).map(|_| llama_cpp(model, &answer)).collect();
    print_row(model, &answer, "llama.cpp", "", &others);
  }
}

/// A schema is compiled once: another title makes it another one, whose lexer states are still to be found.
fn ours(engine: &GrammarEngine, answer: &[LlamaToken], round: usize) -> Pass {
  let source = |name: &str| {
    ConstraintSource::Schema(SCHEMA.replacen('{', &format!("{{\"title\": \"{name} {round}\", "), 1))
  };
  let started = Instant::now();
  let mut constraint = engine.start(&source("check"), &[]).unwrap();
  let compile = started.elapsed();
  let started = Instant::now();
  for token in answer {
    assert!(constraint.allows(token.0).unwrap());
    constraint.accept(token.0).unwrap();
  }
  let check = started.elapsed();
  let mut constraint = engine.start(&source("judge"), &[]).unwrap();
  let judged = answer.iter().map(|token| {
    let started = Instant::now();
    let mask = constraint.mask().unwrap();
    let took = started.elapsed();
    assert!(mask.allows(token.0));
    constraint.accept(token.0).unwrap();
    took
  });
  pass(compile, check, &judged.collect::<Vec<_>>())
}

fn llama_cpp(model: &LlamaModel, answer: &[LlamaToken]) -> Pass {
  let make = || {
    let grammar = llama_cpp_2::json_schema_to_grammar(SCHEMA).unwrap();
    LlamaSampler::grammar(model, &grammar, "root").unwrap()
  };
  let started = Instant::now();
  let mut sampler = make();
  let compile = started.elapsed();
  let started = Instant::now();
  for &token in answer {
    let mut one = LlamaTokenDataArray::new(vec![LlamaTokenData::new(token, 1.0, 0.0)], false);
    sampler.apply(&mut one);
    assert!(one.data[0].logit().is_finite());
    sampler.try_accept(token).unwrap();
  }
  let check = started.elapsed();
  let mut sampler = make();
  let all: Vec<_> = (0..model.n_vocab()).map(|id| LlamaTokenData::new(LlamaToken(id), 1.0, 0.0)).collect();
  let judged = answer.iter().map(|&token| {
    let mut candidates = LlamaTokenDataArray::new(all.clone(), false);
    let started = Instant::now();
    sampler.apply(&mut candidates);
    let took = started.elapsed();
    sampler.try_accept(token).unwrap();
    took
  });
  pass(compile, check, &judged.collect::<Vec<_>>())
}

fn pass(compile: Duration, check: Duration, judged: &[Duration]) -> Pass {
  let worst = *judged.iter().max().unwrap();
  Pass { compile, check, judge: judged.iter().sum(), worst }
}

fn print_row(model: &LlamaModel, answer: &[LlamaToken], engine: &str, prepare: &str, passes: &[Pass]) {
  let fastest = |part: fn(&Pass) -> Duration, count: usize| {
    let least = passes.iter().map(part).min().unwrap().as_secs_f64() * 1e6;
    readable(least / f64::from(u32::try_from(count).unwrap()))
  };
  println!(
    "| {} | {} | {engine} | {prepare} | {} | {} | {} | {} |",
    model.n_vocab(),
    answer.len(),
    fastest(|pass| pass.compile, 1),
    fastest(|pass| pass.check, answer.len()),
    fastest(|pass| pass.judge, answer.len()),
    fastest(|pass| pass.worst, 1),
  );
}

fn readable(microseconds: f64) -> String {
  if microseconds < 1000.0 {
    format!("{microseconds:.0} µs")
  } else {
    format!("{:.1} ms", microseconds / 1e3)
  }
}

fn lexicon(model: &'static LlamaModel) -> Lexicon {
  let vocab = model.vocab();
  let of = |wanted: &dyn Fn(LlamaToken) -> bool| {
    vocab.tokens().filter(|&token| wanted(token)).map(|t| t.0).collect()
  };
  Lexicon {
    words: model.tokens(true).map(|(_, bytes)| bytes).collect(),
    control: of(&|token| vocab.is_control(token) && !vocab.is_eog(token)),
    ends: of(&|token| vocab.is_eog(token)),
    tokenize: Box::new(|text| {
      model.vocab().tokenize(text.as_bytes(), false, false).into_iter().map(|token| token.0).collect()
    }),
  }
}
