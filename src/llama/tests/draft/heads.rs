//! Drafting with the heads of the model itself, whose KV cache follows the model's.

use super::*;

pub(super) fn with_heads(name: &str) -> Model {
  backend::start(&[PathBuf::from(env!("LOCAL_INFERENCE_BUILD_BACKENDS"))]).unwrap();
  let options = LoadOptions { heads: true, ..LoadOptions::default() };
  Model::load(&file(&format!("../synthetic-heads/{name}")), &options, &|_| {}, &CancelToken::new()).unwrap()
}

pub(super) fn drafting(model: &Model, sequences: u32, window: u32) -> Context {
  let mut context = Context::new(model, settings(sequences, window), CancelToken::new()).unwrap();
  context.attach(DraftModel::own(model).unwrap()).unwrap();
  assert_eq!(context.drafter(), Some(Kind::Heads));
  context
}

pub(super) fn run(model: &Model, window: u32, prompt: &str, tokens: usize) -> (Vec<Token>, Count) {
  let mut context = drafting(model, 1, window);
  let mut texts = [Text::new(model, &context, 0, prompt, tokens)];
  start(&mut context, &mut texts);
  let count = go_on(&mut context, &mut texts, window as usize);
  let [text] = texts;
  (text.history, count)
}

#[test]
fn tokens_and_steps_of_heads_are_exactly_the_predicted_ones() {
  for percent in [100, 80] {
    let model = with_heads(&format!("heads-{percent}.gguf"));
    let expected = plain(&model, "hello w003", 200);
    for window in [1, 2, 3, 5, 8, 16] {
      let (tokens, count) = run(&model, window, "hello w003", 200);
      assert_eq!(tokens, expected, "{percent} %, window {window}");
      let predicted = predict(4, 200, window as usize, |class| agrees(class, percent));
      assert_eq!(count, predicted, "{percent} %, window {window}");
    }
  }
}

#[test]
fn the_hidden_state_is_handed_to_the_heads_and_rolled_back() {
  let model = with_heads("heads-carry.gguf");
  for window in [1, 3, 7] {
    let (tokens, count) = run(&model, window, "hello w003", 200);
    assert_eq!(tokens, plain(&model, "hello w003", 200));
    assert_eq!(count, predict(4, 200, window as usize, |_| true), "window {window}");
  }
}

#[test]
fn several_heads_draft_in_turn() {
  let model = with_heads("heads-two.gguf");
  assert_eq!(DraftModel::own(&model).unwrap().longest(), 2);
  let (tokens, count) = run(&model, 2, "hello w003", 200);
  assert_eq!(tokens, plain(&model, "hello w003", 200));
  assert_eq!(count, predict(4, 200, 2, |class| agrees(class, 80)));
  // More than there are heads: the draft is shorter.
  let mut context = drafting(&model, 1, 5);
  let mut texts = [Text::new(&model, &context, 0, "hello w003", 60)];
  start(&mut context, &mut texts);
  let request = DraftRequest { sequence: 0, history: &history_of(&texts[0].history), most: 5, draw: None };
  assert_eq!(context.draft(&[request])[0].len(), 2);
  go_on(&mut context, &mut texts, 5);
  assert_eq!(texts[0].history, plain(&model, "hello w003", 60));
}

#[test]
fn a_text_of_its_whole_history_stays_the_same_with_heads() {
  let model = with_heads("heads-history.gguf");
  let expected = plain(&model, "hello w003", 500);
  for window in [1, 3, 8] {
    let (tokens, count) = run(&model, window, "hello w003", 500);
    assert_eq!(tokens, expected, "window {window}");
    assert!(count.accepted > 30, "window {window}: {count:?}");
  }
}

#[test]
fn four_sequences_draft_with_the_heads_together() {
  let prompts = ["hello w003", "w050", "quite another beginning w077 w078", "x"];
  for name in ["heads-carry.gguf", "heads-history.gguf", "heads-two.gguf"] {
    let model = with_heads(name);
    let mut context = drafting(&model, 4, 3);
    let texts =
      (0..).zip(prompts).map(|(sequence, prompt)| Text::new(&model, &context, sequence, prompt, 100));
    let mut texts: Vec<_> = texts.collect();
    start(&mut context, &mut texts);
    let together = go_on(&mut context, &mut texts, 3);
    let mut longest = 0;
    for (text, prompt) in texts.iter().zip(prompts) {
      let (alone, count) = run(&model, 3, prompt, 100);
      assert_eq!(text.history, alone, "{name}: {prompt}");
      assert_eq!(alone, plain(&model, prompt, 100), "{name}: {prompt}");
      longest = longest.max(count.steps);
    }
    assert_eq!(together.steps, longest, "{name}");
  }
}

#[test]
fn the_end_of_the_context_is_reached_with_heads() {
  let model = with_heads("heads-100.gguf");
  let mut context = drafting(&model, 1, 8);
  fill_context(&model, &mut context);
}

#[test]
fn heads_that_cannot_be_used_are_refused_with_the_reason() {
  let refused = |model: &Model| DraftModel::own(model).err().unwrap();
  let unusable = refused(&with_heads("heads-missing.gguf"));
  assert_eq!(unusable.problem, Problem::Heads, "{unusable}");
  assert!(unusable.message.contains("blk.2.attn_norm"), "{unusable}");
  let unusable = refused(&load("target.gguf"));
  assert_eq!(unusable.problem, Problem::Heads, "{unusable}");
  let unusable = refused(&load("../synthetic-heads/heads-100.gguf"));
  assert_eq!(unusable.problem, Problem::Heads, "{unusable}");
  assert!(unusable.message.contains("loaded without"), "{unusable}");
}

#[test]
fn tokens_kept_of_drafts_of_heads_have_the_targets_distribution() {
  let model = with_heads("heads-80.gguf");
  for drawn in [false, true] {
    distribution::assert_distributed(&model, drafting(&model, 4, 2), 20.0, drawn);
  }
}

/// Heads with experts, several heads, sliding windows in trunk and head: hardly a draft is right, none may do harm.
#[test]
fn heads_of_other_architectures_leave_the_text_as_it_is() {
  for name in ["cohere2moe.gguf", "glm4moe.gguf", "mimo2.gguf", "step35.gguf"] {
    let model = with_heads(name);
    for prompt in ["hello w003", "w050"] {
      let expected = plain(&model, prompt, 400);
      let (tokens, count) = run(&model, 3, prompt, 400);
      assert_eq!(tokens, expected, "{name}: {prompt}");
      assert!(count.drafted > 1_000, "{name}: {count:?}");
    }
    let mut context = drafting(&model, 2, 3);
    let texts = (0..).zip(["hello w003", "w050"]);
    let mut texts: Vec<_> =
      texts.map(|(sequence, prompt)| Text::new(&model, &context, sequence, prompt, 100)).collect();
    start(&mut context, &mut texts);
    go_on(&mut context, &mut texts, 3);
    for (text, prompt) in texts.iter().zip(["hello w003", "w050"]) {
      assert_eq!(text.history, plain(&model, prompt, 100), "{name}: {prompt}");
    }
  }
}
