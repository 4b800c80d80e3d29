//! Drafting with a loop of its own, on models whose tokens are known.

use std::path::PathBuf;

use local_inference_core::fit::{KvType, Windows};
use local_inference_core::options::{FlashAttention, GenerateOptions};

use super::*;
use crate::backend;
use crate::context::{Context, ContextSettings};
use crate::sample::Sampler;
use local_inference_core::decoder::{BatchToken, Decoded, Decoder};

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
  backend::start(&PathBuf::from(env!("LOCAL_INFERENCE_BUILD_BACKENDS"))).unwrap();
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
    drafts,
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
    Self { sequence, sampler, history: prompt, wanted }
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

fn token_of(sequence: SequenceId, token: Token, position: usize, logits: bool) -> BatchToken {
  BatchToken { token, position: i32::try_from(position).unwrap(), sequence, logits }
}

fn take(context: &mut Context, text: &mut Text, row: usize) -> Token {
  let token = context.sample(&mut text.sampler, row, false).unwrap().token;
  context.observe(text.sequence, row, text.history.len());
  text.history.push(token);
  token
}

/// Drafts, verifies and samples until every text has its tokens.
fn go_on(context: &mut Context, texts: &mut [Text], window: usize) -> Count {
  let mut count = Count::default();
  while texts.iter().any(|text| text.left() > 0) {
    let open: Vec<usize> = (0..texts.len()).filter(|&index| texts[index].left() > 0).collect();
    let requests: Vec<_> = open
      .iter()
      .map(|&index| &texts[index])
      .map(|text| DraftRequest {
        sequence: text.sequence,
        history: &text.history,
        most: window.min(text.left() - 1),
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
      let right =
        draft.iter().enumerate().take_while(|&(k, &token)| take(context, text, row + k) == token).count();
      if right == draft.len() {
        take(context, text, row + right);
      }
      count.accepted += right;
      row += draft.len() + 1;
      assert!(context.rewind(text.sequence, text.history.len() - 1));
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

#[test]
fn tokens_and_steps_are_exactly_the_predicted_ones() {
  let model = load("target.gguf");
  let expected = plain(&model, "hello w003", 200);
  for percent in [100, 80, 50, 0] {
    for window in [1, 2, 3, 5, 8, 16] {
      let (tokens, count) =
        speculative(&model, &format!("drafter-{percent}.gguf"), window, "hello w003", 200);
      assert_eq!(tokens, expected, "{percent} %, window {window}");
      assert_eq!(count, predict(4, 200, window, |c| agrees(c, percent)), "{percent} %, window {window}");
    }
  }
}

#[test]
fn the_hidden_state_is_handed_over_and_rolled_back() {
  let model = load("target.gguf");
  for window in [1, 3, 7] {
    let (tokens, count) = speculative(&model, "drafter-carry.gguf", window, "hello w003", 200);
    assert_eq!(tokens, plain(&model, "hello w003", 200));
    assert_eq!(count, predict(4, 200, window, |_| true), "window {window}");
  }
}

#[test]
fn tokens_that_depend_on_the_whole_history_stay_the_same() {
  let model = load("history.gguf");
  // Beyond the window of 32 and the 256 cells of the sliding cache.
  let expected = plain(&model, "hello w003", 500);
  for (drafter, window) in [("drafter-history.gguf", 3), ("drafter-100.gguf", 8), ("drafter-0.gguf", 4)] {
    let (tokens, count) = speculative(&model, drafter, window, "hello w003", 500);
    assert_eq!(tokens, expected, "{drafter}, window {window}");
    assert!(drafter == "drafter-0.gguf" || count.accepted > 50, "{drafter}: {count:?}");
  }
}

#[test]
fn four_sequences_are_drafted_and_verified_together() {
  let model = load("history.gguf");
  let prompts = ["hello w003", "w050", "quite another beginning w077 w078", "x"];
  let mut context = open(&model, 4, Some(("drafter-history.gguf", 3)));
  let mut texts: Vec<_> =
    (0..).zip(prompts).map(|(sequence, prompt)| Text::new(&model, &context, sequence, prompt, 100)).collect();
  start(&mut context, &mut texts);
  let together = go_on(&mut context, &mut texts, 3);
  let mut longest = 0;
  for (text, prompt) in texts.iter().zip(prompts) {
    let (alone, count) = speculative(&model, "drafter-history.gguf", 3, prompt, 100);
    assert_eq!(text.history, alone, "{prompt}");
    assert_eq!(alone, plain(&model, prompt, 100), "{prompt}");
    longest = longest.max(count.steps);
  }
  assert_eq!(together.steps, longest);
}

#[test]
fn a_smaller_model_with_the_same_vocabulary_drafts_too() {
  let model = load("history.gguf");
  let expected = plain(&model, "hello w003", 300);
  let (tokens, count) = speculative(&model, "target.gguf", 4, "hello w003", 300);
  assert_eq!(tokens, expected);
  // It names the first of four successors.
  assert!(count.accepted > 40 && count.accepted < 200, "{count:?}");
  let target = load("target.gguf");
  let (tokens, count) = speculative(&target, "history.gguf", 4, "abc w112", 16);
  assert_eq!(tokens, plain(&target, "abc w112", 16));
  // On the way to the end both agree.
  assert_eq!(count.accepted, count.drafted);
}

#[test]
fn a_draft_that_is_given_up_changes_nothing() {
  let model = load("history.gguf");
  for drafter in ["drafter-history.gguf", "target.gguf"] {
    let mut context = open(&model, 1, Some((drafter, 4)));
    let mut texts = [Text::new(&model, &context, 0, "hello w003", 40)];
    start(&mut context, &mut texts);
    go_on(&mut context, &mut texts, 4);
    for _ in 0..3 {
      // Drafted, not decoded: as after a cancel.
      let request = DraftRequest { sequence: 0, history: &texts[0].history, most: 4 };
      assert_eq!(context.draft(&[request])[0].len(), 4);
    }
    texts[0].wanted += 10;
    go_on(&mut context, &mut texts, 0);
    texts[0].wanted += 50;
    let count = go_on(&mut context, &mut texts, 4);
    assert!(count.accepted > 0, "{drafter}: {count:?}");
    assert_eq!(texts[0].history, plain(&model, "hello w003", 100), "{drafter}");
  }
}

#[test]
fn a_second_turn_continues_on_the_kept_prefix() {
  let model = load("history.gguf");
  for drafter in ["drafter-history.gguf", "target.gguf"] {
    let mut context = open(&model, 1, Some((drafter, 3)));
    let mut texts = [Text::new(&model, &context, 0, "hello w003", 60)];
    start(&mut context, &mut texts);
    go_on(&mut context, &mut texts, 3);
    // Back to the first prompt, then on with another text.
    let second = "hello w003 w009 w010";
    let mut texts = [Text::new(&model, &context, 0, second, 60)];
    assert!(context.rewind(0, model.tokenize("hello w003", true, true).unwrap().len()));
    start(&mut context, &mut texts);
    let count = go_on(&mut context, &mut texts, 3);
    assert_eq!(texts[0].history, plain(&model, second, 60), "{drafter}");
    assert!(count.accepted > 0, "{drafter}: {count:?}");
  }
}

#[test]
fn going_back_further_than_the_sliding_window_remembers_is_refused() {
  let model = load("history.gguf");
  let mut context = open(&model, 1, Some(("drafter-history.gguf", 3)));
  let mut texts = [Text::new(&model, &context, 0, "hello w003", 700)];
  start(&mut context, &mut texts);
  go_on(&mut context, &mut texts, 3);
  let length = context.length(0);
  assert!(context.rewind(0, length - 4));
  assert!(!context.rewind(0, 100));
  assert_eq!(context.length(0), length - 4);
}

#[test]
fn the_end_of_the_context_is_reached_with_the_same_tokens() {
  let model = load("target.gguf");
  let mut context = open(&model, 1, Some(("drafter-100.gguf", 8)));
  let prompt = model.tokenize("hello w003", true, true).unwrap().len();
  // The last sampled token has no cell.
  let tokens = context.context_size() - prompt + 1;
  let mut texts = [Text::new(&model, &context, 0, "hello w003", tokens)];
  start(&mut context, &mut texts);
  go_on(&mut context, &mut texts, 8);
  assert_eq!(texts[0].history, plain(&model, "hello w003", tokens));
  let request = DraftRequest { sequence: 0, history: &texts[0].history, most: 8 };
  // Nothing to verify it in, but no failure either.
  let _ = context.draft(&[request]);
}

#[test]
fn without_the_hidden_state_of_the_last_token_nothing_is_drafted() {
  let model = load("target.gguf");
  let mut context = open(&model, 2, Some(("drafter-100.gguf", 3)));
  let mut texts = [Text::new(&model, &context, 0, "hello w003", 10)];
  start(&mut context, &mut texts);
  let mut longer = texts[0].history.clone();
  longer.push(longer[0]);
  let drafts = context.draft(&[
    DraftRequest { sequence: 0, history: &longer, most: 3 },
    DraftRequest { sequence: 1, history: &texts[0].history, most: 3 },
    DraftRequest { sequence: 0, history: &[], most: 3 },
  ]);
  assert!(drafts.iter().all(Vec::is_empty), "{drafts:?}");
  let request = DraftRequest { sequence: 0, history: &texts[0].history, most: 3 };
  assert_eq!(context.draft(&[request])[0].len(), 3);
}

/// The class of a token: what follows depends on nothing else.
fn class(model: &Model, token: Token) -> usize {
  let text = model.token_text(token);
  let word =
    text.strip_prefix(" w").filter(|digits| digits.len() == 3).and_then(|digits| digits.parse().ok());
  word.unwrap_or(usize::try_from(token).unwrap() % CYCLE)
}

fn ends_text(model: &Model, token: usize) -> bool {
  model.vocabulary().is_end(Token::try_from(token).unwrap())
}

/// Pearson's statistic of `counts` against the probabilities.
fn chi_square(counts: &[f64], probabilities: &[f64]) -> f64 {
  let total: f64 = counts.iter().sum();
  counts.iter().zip(probabilities).map(|(count, p)| (count - total * p).powi(2) / (total * p)).sum()
}

/// At a temperature the right token has a known probability and all others share the rest alike. With drafts, at drafted
/// places and after them, the draws must be distributed so.
#[test]
#[allow(clippy::cast_precision_loss, reason = "counts are small")]
fn sampled_tokens_have_the_targets_distribution() {
  const BINS: usize = 16;
  const TEMPERATURE: f32 = 2.4;
  let model = load("target.gguf");
  let vocabulary = model.vocabulary_size() as usize;
  let weight = (30.0 * (20.0_f64 / 30.0).tanh() / f64::from(TEMPERATURE)).exp();
  // Tokens that end a text are ruled out.
  let ends = (0..vocabulary).filter(|&token| ends_text(&model, token)).count();
  let rest = (vocabulary - 1 - ends) as f64;
  let mut options = GenerateOptions { ignore_eos: true, ..GenerateOptions::default() };
  let sampling = &mut options.sampling;
  (sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p) = (TEMPERATURE, 0, 1.0, 0.0);
  let (mut right, mut others, mut draws) = (0.0, vec![0.0; BINS], 0);
  let mut context = open(&model, 4, Some(("drafter-100.gguf", 2)));
  for round in 0..25_u32 {
    context.clear_all();
    let mut texts: Vec<_> = (0..4)
      .map(|sequence| {
        options.sampling.seed = Some(1_000 + 4 * round + sequence);
        Text::sampled(&model, &context, sequence.cast_signed(), "hello w003", 201, &options)
      })
      .collect();
    start(&mut context, &mut texts);
    let count = go_on(&mut context, &mut texts, 2);
    assert!(count.accepted > 0);
    for text in &texts {
      let tail = &text.history[text.wanted - 201..];
      for pair in tail.windows(2) {
        let next = (class(&model, pair[0]) + 1) % CYCLE;
        // Words beyond the circle lead elsewhere.
        if class(&model, pair[0]) >= CYCLE {
          continue;
        }
        draws += 1;
        if model.token_text(pair[1]) == format!(" w{next:03}") {
          right += 1.0;
        } else {
          others[usize::try_from(pair[1]).unwrap() % BINS] += 1.0;
        }
      }
    }
  }
  assert!(draws > 19_000, "{draws}");
  let p = weight / (weight + rest);
  let counts: Vec<f64> = std::iter::once(right).chain(others).collect();
  let share =
    |bin: usize| (vocabulary / BINS + usize::from(bin < vocabulary % BINS)) as f64 / vocabulary as f64;
  let expected: Vec<f64> = std::iter::once(p).chain((0..BINS).map(|bin| (1.0 - p) * share(bin))).collect();
  let statistic = chi_square(&counts, &expected);
  // 16 degrees of freedom: 39.3 is exceeded once in a thousand times; the seeds are fixed.
  assert!(statistic < 39.3, "{statistic}: {counts:?} of {draws}, expected {p} right");
}

#[test]
fn a_drafter_that_does_not_fit_is_refused_with_the_reason() {
  let model = load("target.gguf");
  let refused = |name: &str| match DraftModel::load(&model, &file(name), &LoadOptions::default()) {
    Ok(_) => panic!("{name} was accepted"),
    Err(unusable) => unusable,
  };
  for (name, problem, word) in [
    ("target.gguf", Problem::SameFile, "itself"),
    ("drafter-foreign-words.gguf", Problem::Vocabulary, "x"),
    ("drafter-larger-vocabulary.gguf", Problem::Vocabulary, "tokens"),
    ("drafter-other-width.gguf", Problem::Width, "512"),
    ("../SmolLM2-135M-Instruct.Q4_1.gguf", Problem::Vocabulary, "49152"),
    ("../all-MiniLM-L6-v2-f16.gguf", Problem::Unsupported, "bert"),
  ] {
    let unusable = refused(name);
    assert_eq!(unusable.problem, problem, "{name}: {unusable}");
    assert!(unusable.message.contains(word), "{name}: {unusable}");
  }
  let missing = file("target.gguf").with_file_name("no-such-file.gguf");
  let unusable = DraftModel::load(&model, &missing, &LoadOptions::default()).err().unwrap();
  assert_eq!(unusable.problem, Problem::NotFound, "{unusable}");
  // A drafter of Gemma 4 for another model.
  let other = Model::load(
    &file("../SmolLM2-135M-Instruct.Q4_1.gguf"),
    &LoadOptions::default(),
    &|_| {},
    &CancelToken::new(),
  );
  let unusable =
    DraftModel::load(&other.unwrap(), &file("drafter-100.gguf"), &LoadOptions::default()).err().unwrap();
  assert_eq!(unusable.problem, Problem::Unsupported, "{unusable}");
}
