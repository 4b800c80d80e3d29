//! Tokens and steps of drafted decoding are exactly the predicted ones.

use super::*;

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
fn a_draft_model_says_what_it_has_yet_to_read() {
  let model = load("target.gguf");
  let mut context = open(&model, 1, Some(("history.gguf", 4)));
  let mut texts = [Text::new(&model, &context, 0, "hello w003", 40)];
  start(&mut context, &mut texts);
  assert_eq!(context.unread(0, &history_of(&texts[0].history)), texts[0].history.len() - 1);
  let unread = |context: &Context, text: &Text| context.unread(0, &history_of(&text.history));
  go_on(&mut context, &mut texts, 4);
  // The last step drafts nothing: it has room for one token.
  assert!(unread(&context, &texts[0]) <= 5, "{}", unread(&context, &texts[0]));

  let mut shared = open(&model, 1, Some(("drafter-100.gguf", 4)));
  let mut texts = [Text::new(&model, &shared, 0, "hello w003", 40)];
  start(&mut shared, &mut texts);
  assert_eq!(unread(&shared, &texts[0]), 0, "a drafter in the model's own KV cache reads nothing");
}
