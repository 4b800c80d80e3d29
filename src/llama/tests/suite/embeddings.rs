//! Embeddings of all-MiniLM-L6-v2.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::support::{load, minilm, tiny};
use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::Token;
use local_inference_core::embed::{Truncate, fit_tokens, normalize};
use local_inference_core::error::{ErrorCode, Result};
use local_inference_core::gguf::Pooling;
use local_inference_llama::embedder::{Embedder, EmbedderOptions};
use local_inference_llama::model::Model;

/// The beginning of the unit vector of "Bread is baked from flour."
const RECORDED: [f32; 8] = [0.0128, 0.0536, -0.0101, 0.0249, -0.0520, 0.0292, 0.0462, 0.0566];

type Vectors = Vec<Vec<f32>>;

struct Rig {
  model: Model,
  embedder: Embedder,
}

impl Rig {
  fn new() -> Self {
    Self::with(&load(&minilm()), &EmbedderOptions::default())
  }

  fn with(model: &Model, options: &EmbedderOptions) -> Self {
    let embedder = Embedder::open(model, &EmbedderOptions { threads: Some(1), ..options.clone() }).unwrap();
    Self { model: model.clone(), embedder }
  }

  fn tokens(&self, text: &str) -> Vec<Token> {
    self.model.tokenize(text, true, false).unwrap()
  }

  fn submit(&self, texts: &[&str], cancel: &CancelToken) -> Receiver<Result<Vectors>> {
    let (sender, receiver) = channel();
    let texts = texts.iter().map(|text| self.tokens(text)).collect();
    self.embedder.submit(texts, cancel.clone(), Box::new(move |vectors| drop(sender.send(vectors))));
    receiver
  }

  /// Unit vectors.
  fn embed(&self, texts: &[&str]) -> Vectors {
    let mut vectors = wait(&self.submit(texts, &CancelToken::new())).unwrap();
    assert!(vectors.iter_mut().all(|vector| normalize(vector)));
    vectors
  }
}

fn wait(receiver: &Receiver<Result<Vectors>>) -> Result<Vectors> {
  receiver.recv_timeout(Duration::from_mins(5)).expect("a reply always comes")
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
  a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
  assert_eq!(a.len(), b.len());
  a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn vectors_have_the_dimensions_and_the_pooling_of_the_model() {
  let rig = Rig::new();
  let info = rig.embedder.info();
  assert_eq!((info.dimensions, info.max_tokens, info.pooling), (384, 512, Pooling::Mean));
  let vectors = rig.embed(&["hello"]);
  assert_eq!(vectors.iter().map(Vec::len).collect::<Vec<_>>(), [384]);
  assert!(vectors[0].iter().all(|value| value.is_finite()));
}

#[test]
fn related_texts_are_nearer_than_unrelated_ones() {
  let rig = Rig::new();
  let vectors =
    rig.embed(&["bread", "food", "stock market", "Bread is baked from flour.", "Shares fell on Monday."]);
  let near = cosine(&vectors[0], &vectors[1]);
  assert!(near > cosine(&vectors[0], &vectors[2]) + 0.1, "{near}");
  assert!(cosine(&vectors[0], &vectors[3]) > cosine(&vectors[0], &vectors[4]) + 0.2);
  assert!(cosine(&vectors[2], &vectors[4]) > cosine(&vectors[2], &vectors[3]) + 0.2);
}

#[test]
fn the_values_are_those_recorded_from_an_earlier_build() {
  let vector = Rig::new().embed(&["Bread is baked from flour."]).remove(0);
  let beginning = &vector[..RECORDED.len()];
  assert!(distance(beginning, &RECORDED) < 2e-3, "{beginning:?}");
}

#[test]
fn a_batch_gives_what_single_texts_give() {
  let rig = Rig::new();
  let long = "A longer sentence about rivers, mountains and the sea. ".repeat(12);
  let texts = ["a", "The quick brown fox jumps over the lazy dog.", long.as_str(), "", "日本語", "a"];
  let together = rig.embed(&texts);
  for (text, vector) in texts.iter().zip(&together) {
    let alone = rig.embed(&[text]);
    assert!(distance(vector, &alone[0]) < 1e-3, "{text:?}: {}", distance(vector, &alone[0]));
  }
  assert!(distance(&together[0], &together[5]) < 1e-3, "equal texts have equal vectors");
}

#[test]
fn a_hundred_texts_come_back_in_their_order() {
  let rig = Rig::new();
  let texts: Vec<String> = (0..100).map(|index| format!("Item number {index} of the list")).collect();
  let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
  let vectors = rig.embed(&texts);
  assert_eq!(vectors.len(), 100);
  for index in [0, 37, 64, 99] {
    let alone = rig.embed(&[texts[index]]);
    assert!(distance(&vectors[index], &alone[0]) < 1e-3, "{index}");
  }
  assert!(distance(&vectors[3], &vectors[4]) > 1e-3, "different texts have different vectors");
}

#[test]
fn no_texts_give_no_vectors() {
  assert!(Rig::new().embed(&[]).is_empty());
}

#[test]
fn a_text_beyond_the_limit_is_cut_or_refused_as_asked() {
  let rig = Rig::new();
  let limit = rig.embedder.info().max_tokens as usize;
  let text = format!("{} {}", "apple banana cherry ".repeat(300), "quarterly report");
  let tokens = rig.tokens(&text);
  assert!(tokens.len() > limit);
  let specials = rig.model.specials();
  let error = fit_tokens(tokens.clone(), limit, Truncate::Error, specials).unwrap_err();
  assert_eq!(error.code(), ErrorCode::ContextOverflow);
  let embed = |tokens: Vec<Token>| {
    let (sender, receiver) = channel();
    rig.embedder.submit(vec![tokens], CancelToken::new(), Box::new(move |reply| drop(sender.send(reply))));
    let mut vector = wait(&receiver).unwrap().remove(0);
    assert!(normalize(&mut vector));
    vector
  };
  let cut = |policy| {
    let (cut, was_cut) = fit_tokens(tokens.clone(), limit, policy, specials).unwrap();
    assert!(was_cut);
    assert_eq!((cut.len(), cut[0], cut.last()), (limit, tokens[0], tokens.last()), "the framing tokens stay");
    embed(cut)
  };
  let (head, tail) = (cut(Truncate::Head), cut(Truncate::Tail));
  assert!(distance(&head, &tail) > 1e-4, "the end of the text is only in one of them");
}

#[test]
fn the_pooling_can_be_chosen() {
  let model = load(&minilm());
  let text = ["The pooling decides which tokens speak for the text."];
  let mean =
    Rig::with(&model, &EmbedderOptions { pooling: Some(Pooling::Mean), ..EmbedderOptions::default() })
      .embed(&text);
  let declared = Rig::with(&model, &EmbedderOptions::default()).embed(&text);
  assert!(distance(&mean[0], &declared[0]) < 1e-5);
  for pooling in [Pooling::Cls, Pooling::Last] {
    let rig = Rig::with(&model, &EmbedderOptions { pooling: Some(pooling), ..EmbedderOptions::default() });
    assert_eq!(rig.embedder.info().pooling, pooling);
    assert!(distance(&rig.embed(&text)[0], &mean[0]) > 1e-2, "{pooling:?}");
  }
}

#[test]
fn a_chat_model_embeds_when_a_pooling_is_named() {
  let model = load(&tiny());
  let rig =
    Rig::with(&model, &EmbedderOptions { pooling: Some(Pooling::Mean), ..EmbedderOptions::default() });
  let vectors = rig.embed(&["def add(a, b):", "def add(a, b):", "class Tree"]);
  assert_eq!(vectors[0].len(), model.header().embedding_length as usize);
  assert!(distance(&vectors[0], &vectors[1]) < 1e-3);
  assert!(distance(&vectors[0], &vectors[2]) > 1e-3);
}

#[test]
fn a_context_larger_than_the_training_is_invalid_input() {
  let model = load(&minilm());
  for size in [0, 513, u32::MAX] {
    let options = EmbedderOptions { context_size: Some(size), ..EmbedderOptions::default() };
    assert_eq!(Embedder::open(&model, &options).err().unwrap().code(), ErrorCode::InvalidInput, "{size}");
  }
}

#[test]
fn a_cancelled_request_fails_alone() {
  let rig = Rig::new();
  let cancel = CancelToken::new();
  cancel.cancel();
  let (cancelled, kept) = (rig.submit(&["never"], &cancel), rig.submit(&["always"], &CancelToken::new()));
  assert_eq!(wait(&cancelled).unwrap_err().code(), ErrorCode::Cancelled);
  assert_eq!(wait(&kept).unwrap().len(), 1);
  let late = CancelToken::new();
  let text = "Many words take a while to embed. ".repeat(50);
  let running = rig.submit(&vec![text.as_str(); 64], &late);
  late.cancel();
  assert_eq!(wait(&running).unwrap_err().code(), ErrorCode::Cancelled);
  assert_eq!(rig.embed(&["still here"]).len(), 1);
}

#[test]
fn closing_answers_everything_that_waits() {
  let rig = Rig::new();
  let text = "Many words take a while to embed. ".repeat(50);
  let waiting: Vec<_> = (0..8).map(|_| rig.submit(&vec![text.as_str(); 16], &CancelToken::new())).collect();
  rig.embedder.close();
  rig.embedder.close();
  let outcomes: Vec<_> = waiting.iter().map(wait).collect();
  assert_eq!(outcomes.last().unwrap().as_ref().unwrap_err().code(), ErrorCode::Closed);
  assert!(outcomes.iter().all(|it| it.as_ref().err().is_none_or(|error| error.code() == ErrorCode::Closed)));
  let after = rig.submit(&["too late"], &CancelToken::new());
  assert_eq!(wait(&after).unwrap_err().code(), ErrorCode::Closed);
}
