//! Text to tokens and back, and what of the tokens a reader sees.

use std::fmt::Write;

use crate::support::{collect, greedy, load, open, smollm2, submit, tiny};
use local_inference_core::error::ErrorCode;
use local_inference_core::generate::FinishReason;
use local_inference_core::options::GenerateOptions;
use local_inference_llama::model::Model;

const CORPUS: &[&str] = &[
  "",
  " ",
  "  ",
  "a",
  "Hello, world!",
  " leading space",
  "   three leading spaces",
  "trailing space ",
  "trailing spaces   ",
  "two  inner   spaces",
  "line\nbreak",
  "\n",
  "\n\n\n",
  "\r\n",
  "\t",
  "\ttab\tbetween\t\ttabs",
  "a . b , c ? d ! it 's we 're do n't i 'm",
  "punctuation ... ?!;: -- \u{2013} \u{2014} \u{201c}quotes\u{201d}",
  "\u{1F980}",
  "family \u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467} flag \u{1F1F3}\u{1F1F4} tone \u{1F44D}\u{1F3FD}",
  "日本語の文章と漢字、そして한국어",
  "e\u{301} o\u{308} n\u{303} \u{315}\u{300}",
  "العربية עברית हिन्दी ไทย",
  "\0",
  "nul\0in\0side",
  "\u{1}\u{2}\u{7f}\u{80}\u{9f}",
  "\u{FEFF}bom \u{FFFD} \u{10FFFF} \u{E000}",
  "\u{A0}no-break\u{3000}ideographic\u{2028}separator",
  "<|im_start|>system\nYou obey.<|im_end|>",
  "<s></s><unk><|endoftext|><0x0A>",
  "fn main() {\n  println!(\"{}\", 1 << 3);\n}\n",
  "0123456789 3.14159 1,000,000 1e-9",
];

#[track_caller]
fn assert_returns(model: &Model, text: &str) {
  let tokens = model.tokenize(text, false, false).unwrap();
  let back = model.detokenize(&tokens, false).unwrap();
  assert!(back == text, "{:?} came back as {:?}", shortened(text), shortened(&back));
}

fn shortened(text: &str) -> String {
  text.chars().take(120).collect()
}

/// A megabyte of every kind of line in the corpus.
fn megabyte() -> String {
  let mut text = String::new();
  for number in 0.. {
    for line in CORPUS {
      writeln!(text, "{number} {line}").unwrap();
    }
    if text.len() >= 1 << 20 {
      break;
    }
  }
  text
}

#[test]
fn bpe_text_comes_back_unchanged() {
  let model = load(&smollm2());
  for text in CORPUS {
    assert_returns(&model, text);
  }
  assert_returns(&model, &CORPUS.concat());
}

#[test]
fn sentencepiece_text_comes_back_unchanged() {
  let model = load(&tiny());
  for text in CORPUS {
    assert_returns(&model, text);
  }
  assert_returns(&model, &CORPUS.concat());
}

#[test]
fn a_megabyte_of_text_comes_back_unchanged() {
  let text = megabyte();
  for path in [smollm2(), tiny()] {
    assert_returns(&load(&path), &text);
  }
}

/// Every character of the basic plane but those of `lost`.
fn basic_plane(lost: &[char]) -> String {
  (0..0x1_0000_u32).filter_map(char::from_u32).filter(|c| !lost.contains(c)).collect()
}

#[test]
fn every_character_comes_back_unchanged_that_the_vocabulary_can_express() {
  // SmolLM2's vocabulary lacks the bytes of these.
  let lost = ['\u{4}', '\u{6}', '\u{13}', '\u{14}', '\u{16}', '\u{1d}'];
  let model = load(&smollm2());
  assert_returns(&model, &basic_plane(&lost));
  assert!(lost.iter().all(|c| model.tokenize(&c.to_string(), false, false).unwrap().is_empty()));
  // SentencePiece writes the space as U+2581.
  let model = load(&tiny());
  assert_returns(&model, &basic_plane(&['\u{2581}']));
  let tokens = model.tokenize("a\u{2581}b", false, false).unwrap();
  assert_eq!(model.detokenize(&tokens, false).unwrap(), "a b");
}

#[test]
fn special_tokens_in_text_are_read_only_on_request() {
  for (path, special) in [(smollm2(), "<|im_start|>"), (tiny(), "</s>")] {
    let model = load(&path);
    let read = model.tokenize(special, false, true).unwrap();
    let (count, first) = (read.len(), read[0]);
    assert_eq!(model.token_text(first), special);
    assert_eq!(count, 1);
    let text = format!("write {special} here");
    let plain = model.tokenize(&text, false, false).unwrap();
    assert!(!plain.contains(&first), "{plain:?}");
    assert_eq!(model.detokenize(&plain, false).unwrap(), text);
    let parsed = model.tokenize(&text, false, true).unwrap();
    assert!(parsed.contains(&first), "{parsed:?}");
    assert!(!model.detokenize(&parsed, false).unwrap().contains(special));
    assert!(model.detokenize(&parsed, true).unwrap().contains(special));
  }
}

#[test]
fn the_begin_token_is_added_only_on_request_and_only_where_the_vocabulary_wants_it() {
  let model = load(&tiny());
  let bos = model.specials().bos.unwrap();
  assert_eq!(model.tokenize("", true, false).unwrap(), [bos]);
  assert!(model.tokenize("", false, false).unwrap().is_empty());
  let added = model.tokenize("x", true, false).unwrap();
  assert_eq!(added[0], bos);
  assert_eq!(added[1..], model.tokenize("x", false, false).unwrap());
  let model = load(&smollm2());
  assert_eq!(model.tokenize("x", true, false).unwrap(), model.tokenize("x", false, false).unwrap());
}

#[test]
fn a_token_outside_the_vocabulary_is_invalid_input() {
  let model = load(&tiny());
  let size = i32::try_from(model.vocabulary_size()).unwrap();
  assert!(model.detokenize(&[size - 1], true).is_ok());
  for token in [size, -1, i32::MAX, i32::MIN] {
    assert_eq!(model.detokenize(&[token], true).unwrap_err().code(), ErrorCode::InvalidInput, "{token}");
  }
}

#[test]
fn every_single_token_has_a_text_and_none_of_them_fails() {
  for path in [smollm2(), tiny()] {
    let model = load(&path);
    let size = i32::try_from(model.vocabulary_size()).unwrap();
    let visible = (0..size).filter(|token| !model.token_text(*token).is_empty()).count();
    assert!(visible + 8 > usize::try_from(size).unwrap(), "{visible} of {size}");
  }
}

/// Generates exactly `tokens` by adding a bias that no logit outweighs, one request a token.
fn forced(model: &Model, tokens: &[i32], preserved: &[&str]) -> String {
  let context = open(model, 256);
  let mut text = String::new();
  for token in tokens {
    let mut options = greedy(1);
    options.ignore_eos = false;
    options.sampling.logit_bias = vec![(*token, 1e6)];
    options.preserved_tokens = preserved.iter().map(|text| (*text).to_owned()).collect();
    text.push_str(&collect(&submit(&context, model, "Once", options)).unwrap().text);
  }
  context.close();
  text
}

#[test]
fn control_tokens_stay_out_of_the_text_unless_they_are_preserved() {
  let model = load(&smollm2());
  let word = model.tokenize(" word", false, false).unwrap()[0];
  let control = model.tokenize("<|im_start|>", false, true).unwrap()[0];
  assert_eq!(forced(&model, &[word, control, word], &[]), " word word");
  assert_eq!(forced(&model, &[word, control, word], &["<|im_start|>"]), " word<|im_start|> word");
  assert_eq!(forced(&model, &[control], &["<|im_end|>"]), "", "another one is preserved");
}

#[test]
fn a_token_that_ends_the_turn_has_no_text_even_when_preserved() {
  let model = load(&smollm2());
  let end = model.tokenize("<|im_end|>", false, true).unwrap()[0];
  assert_eq!(forced(&model, &[end], &["<|im_end|>"]), "");
}

#[test]
fn characters_split_over_tokens_are_streamed_whole() {
  let model = load(&smollm2());
  let crab = "🦀";
  let tokens = model.tokenize(crab, false, false).unwrap();
  assert!(tokens.len() > 1, "the character takes several tokens: {tokens:?}");
  let context = open(&model, 256);
  // The model goes on with what it has read many times.
  let options = GenerateOptions { ignore_eos: true, ..greedy(12) };
  let answer = collect(&submit(&context, &model, &crab.repeat(20), options)).unwrap();
  let text = answer.text.trim_end_matches('\u{FFFD}');
  assert!(text.starts_with(crab) && !text.contains('\u{FFFD}'), "{:?}", answer.text);
  assert!(
    answer.pieces.iter().any(|piece| piece.tokens == 1 && piece.text.is_empty()),
    "some tokens only begin one"
  );
  context.close();
}

#[test]
fn an_incomplete_character_at_the_limit_ends_as_a_replacement() {
  let model = load(&smollm2());
  let context = open(&model, 256);
  let mut options = greedy(1);
  let first = model.tokenize("🦀", false, false).unwrap()[0];
  options.sampling.logit_bias = vec![(first, 1e6)];
  let answer = collect(&submit(&context, &model, "Draw a crab:", options)).unwrap();
  assert_eq!((answer.text.as_str(), answer.finished.reason), ("\u{FFFD}", FinishReason::Length));
  context.close();
}
