//! Drafting with a loop of its own, on models whose tokens are known.

mod distribution;
mod heads;
mod heads_memory;
mod rules;
mod steps;

use std::path::PathBuf;

use local_inference_core::fit::{KvType, Windows};
use local_inference_core::options::{FlashAttention, GenerateOptions};

use local_inference_core::cancel::CancelToken;
use local_inference_core::options::LoadOptions;

use super::*;
use crate::backend;
use crate::context::{Context, ContextSettings};
use crate::sample::Sampler;
use local_inference_core::decoder::{
  BatchToken, Decode, Decoded, Draft as _, Draw, KvMemory as _, Sample as _,
};
use local_inference_core::history::History;

fn file(name: &str) -> PathBuf {
  let folder = std::env::var_os("LOCAL_INFERENCE_DEV_MODELS").map_or_else(
    || {
      let cache = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from);
      cache.join("local-inference/models")
    },
    PathBuf::from,
  );
  let path = folder.join("synthetic-mtp").join(name);
  assert!(path.exists(), "{} is missing: fetch the models with `npm run models`", path.display());
  path
}

fn load(name: &str) -> Model {
  backend::start(&[PathBuf::from(env!("LOCAL_INFERENCE_BUILD_BACKENDS"))]).unwrap();
  Model::load(&file(name), &LoadOptions::default(), &|_| {}, &CancelToken::new()).unwrap()
}

fn settings(sequences: u32, drafts: u32) -> ContextSettings {
  ContextSettings {
    size: 1_024,
    sequences,
    batch: 128,
    micro_batch: 64,
    threads: 1,
    kv_k: KvType::F16,
    kv_v: KvType::F16,
    flash_attention: FlashAttention::Auto,
    windows: Windows::Trimmed,
    draft_window: drafts,
    pooling: None,
  }
}

fn open(model: &Model, sequences: u32, drafter: Option<(&str, u32)>) -> Context {
  let drafts = drafter.map_or(0, |(_, most)| most);
  let mut context = Context::new(model, settings(sequences, drafts), CancelToken::new()).unwrap();
  if let Some((name, _)) = drafter {
    let drafter = DraftModel::load(model, &file(name), &LoadOptions::default()).unwrap();
    context.attach(drafter).unwrap();
  }
  context
}

/// A text in the making.
struct Text {
  sequence: SequenceId,
  sampler: Sampler,
  history: Vec<Token>,
  wanted: usize,
  draw: Option<Draw>,
}

impl Text {
  fn new(model: &Model, context: &Context, sequence: SequenceId, prompt: &str, tokens: usize) -> Self {
    let mut options = GenerateOptions::default();
    options.sampling.temperature = 0.0;
    Self::sampled(model, context, sequence, prompt, tokens, &options)
  }

  fn sampled(
    model: &Model,
    context: &Context,
    sequence: SequenceId,
    prompt: &str,
    tokens: usize,
    options: &GenerateOptions,
  ) -> Self {
    let prompt = model.tokenize(prompt, true, true).unwrap();
    let sampler = context.sampler(options, &prompt).unwrap();
    let wanted = prompt.len() + tokens;
    Self { sequence, sampler, history: prompt, wanted, draw: None }
  }

  fn left(&self) -> usize {
    self.wanted.saturating_sub(self.history.len())
  }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
  steps: usize,
  drafted: usize,
  accepted: usize,
}

/// Evaluates the prompts and samples the first tokens.
fn start(context: &mut Context, texts: &mut [Text]) {
  for text in texts {
    let prompt = text.history.clone();
    let mut have = context.length(text.sequence);
    while have < prompt.len() {
      let end = prompt.len().min(have + 100);
      let batch: Vec<_> = (have..end)
        .map(|position| token_of(text.sequence, prompt[position], position, position + 1 == prompt.len()))
        .collect();
      assert_eq!(context.decode(&batch, &|| false).unwrap(), Decoded::Complete);
      have = end;
      if end == prompt.len() {
        context.begin_drafts(text.sequence);
        take(context, text, batch.len() - 1);
      }
    }
  }
}

fn history_of(tokens: &[Token]) -> History {
  tokens.into()
}

fn token_of(sequence: SequenceId, token: Token, position: usize, logits: bool) -> BatchToken {
  BatchToken { token, position: i32::try_from(position).unwrap(), sequence, logits }
}

fn take(context: &mut Context, text: &mut Text, row: usize) -> Token {
  take_after(context, text, row, None)
}

/// `drafted`: what was drafted to stand here, and its place in the draft.
fn take_after(context: &mut Context, text: &mut Text, row: usize, drafted: Option<(usize, Token)>) -> Token {
  let drawn = drafted.filter(|_| text.draw.is_some());
  let sampled = match drawn.map(|(place, token)| Drafted { sequence: text.sequence, place, token }) {
    Some(drafted) => context.verify(&mut text.sampler, row, false, drafted),
    None => context.sample(&mut text.sampler, row, false),
  };
  let token = sampled.unwrap().token;
  context.observe(text.sequence, row, text.history.len());
  text.history.push(token);
  token
}

/// Drafts, verifies and samples until every text has its tokens.
fn go_on(context: &mut Context, texts: &mut [Text], window: usize) -> Count {
  let mut count = Count::default();
  while texts.iter().any(|text| text.left() > 0) {
    let open: Vec<usize> = (0..texts.len()).filter(|&index| texts[index].left() > 0).collect();
    let histories: Vec<_> = open.iter().map(|&index| history_of(&texts[index].history)).collect();
    let requests: Vec<_> = open
      .iter()
      .map(|&index| &texts[index])
      .zip(&histories)
      .map(|(text, history)| DraftRequest {
        sequence: text.sequence,
        history,
        most: window.min(text.left() - 1),
        draw: text.draw,
      })
      .collect();
    let drafts = context.draft(&requests);
    let mut batch = Vec::new();
    for (&index, draft) in open.iter().zip(&drafts) {
      let text = &texts[index];
      let first = text.history.len() - 1;
      let tokens = text.history.last().into_iter().chain(draft);
      batch.extend(tokens.enumerate().map(|(k, &token)| token_of(text.sequence, token, first + k, true)));
    }
    assert_eq!(context.decode(&batch, &|| false).unwrap(), Decoded::Complete);
    count.steps += 1;
    let mut row = 0;
    for (&index, draft) in open.iter().zip(&drafts) {
      let text = &mut texts[index];
      count.drafted += draft.len();
      let right = draft
        .iter()
        .enumerate()
        .take_while(|&(k, &token)| take_after(context, text, row + k, Some((k, token))) == token)
        .count();
      if right == draft.len() {
        take(context, text, row + right);
      }
      count.accepted += right;
      row += draft.len() + 1;
      assert!(context.truncate(text.sequence, text.history.len() - 1));
    }
  }
  count
}

fn plain(model: &Model, prompt: &str, tokens: usize) -> Vec<Token> {
  let mut context = open(model, 1, None);
  let mut texts = [Text::new(model, &context, 0, prompt, tokens)];
  start(&mut context, &mut texts);
  go_on(&mut context, &mut texts, 0);
  texts[0].history.clone()
}

/// Whether the drafter of `percent` agreement is right after class `number` (`agrees` in scripts/synthetic/models.py).
fn agrees(number: usize, percent: u64) -> bool {
  let mixed = (number as u64 + 1) * 2_654_435_761 % (1 << 32);
  (mixed >> 16) % 100 < percent
}

const CYCLE: usize = 112;

/// What must come of a drafter that is right after class c where `right(c)`, when class `first` has been sampled.
fn predict(first: usize, tokens: usize, window: usize, right: impl Fn(usize) -> bool) -> Count {
  let (mut count, mut have) = (Count::default(), 1);
  while have < tokens {
    let drafted = window.min(tokens - have - 1);
    let accepted = (0..drafted).take_while(|k| right((first + have - 1 + k) % CYCLE)).count();
    count =
      Count { steps: count.steps + 1, drafted: count.drafted + drafted, accepted: count.accepted + accepted };
    have += accepted + 1;
  }
  count
}

fn speculative(
  model: &Model,
  drafter: &str,
  window: usize,
  prompt: &str,
  tokens: usize,
) -> (Vec<Token>, Count) {
  let mut context = open(model, 1, Some((drafter, u32::try_from(window).unwrap())));
  let mut texts = [Text::new(model, &context, 0, prompt, tokens)];
  start(&mut context, &mut texts);
  let count = go_on(&mut context, &mut texts, window);
  let [text] = texts;
  (text.history, count)
}

/// Back to the first prompt, then on with another text: the tokens are those of plain decoding.
fn second_turn(model: &Model, context: &mut Context, what: &str) -> Count {
  let mut texts = [Text::new(model, context, 0, "hello w003", 60)];
  start(context, &mut texts);
  go_on(context, &mut texts, 3);
  let second = "hello w003 w009 w010";
  let mut texts = [Text::new(model, context, 0, second, 60)];
  assert!(context.truncate(0, model.tokenize("hello w003", true, true).unwrap().len()));
  start(context, &mut texts);
  let count = go_on(context, &mut texts, 3);
  assert_eq!(texts[0].history, plain(model, second, 60), "{what}");
  count
}

/// The context is filled to its end, with the tokens of plain decoding.
fn fill_context(model: &Model, context: &mut Context) {
  let prompt = model.tokenize("hello w003", true, true).unwrap().len();
  // The last sampled token has no cell.
  let tokens = context.context_size() - prompt + 1;
  let mut texts = [Text::new(model, context, 0, "hello w003", tokens)];
  start(context, &mut texts);
  go_on(context, &mut texts, 8);
  assert_eq!(texts[0].history, plain(model, "hello w003", tokens));
  let request = DraftRequest { sequence: 0, history: &history_of(&texts[0].history), most: 8, draw: None };
  // Nothing to verify it in, but no failure either.
  let _ = context.draft(&[request]);
}
