//! The KV cache of the heads follows the model's through everything that happens to a sequence.

use super::heads::{drafting, with_heads};
use super::*;

#[test]
fn heads_go_on_after_a_truncation_with_the_kept_prefix() {
  for name in ["heads-carry.gguf", "heads-history.gguf", "heads-two.gguf"] {
    let model = with_heads(name);
    let mut context = drafting(&model, 1, 3);
    let count = second_turn(&model, &mut context, name);
    assert!(count.accepted > 5, "{name}: {count:?}");
  }
}

#[test]
fn drafts_of_heads_that_are_given_up_change_nothing() {
  for name in ["heads-carry.gguf", "heads-history.gguf", "heads-two.gguf"] {
    let model = with_heads(name);
    let mut context = drafting(&model, 1, 4);
    let mut texts = [Text::new(&model, &context, 0, "hello w003", 40)];
    start(&mut context, &mut texts);
    go_on(&mut context, &mut texts, 4);
    for _ in 0..3 {
      let request =
        DraftRequest { sequence: 0, history: &history_of(&texts[0].history), most: 4, draw: None };
      assert!(context.draft(&[request])[0].len() >= 2, "{name}");
    }
    texts[0].wanted += 10;
    go_on(&mut context, &mut texts, 0);
    texts[0].wanted += 50;
    let count = go_on(&mut context, &mut texts, 4);
    assert!(count.accepted > 0, "{name}: {count:?}");
    assert_eq!(texts[0].history, plain(&model, "hello w003", 100), "{name}");
  }
}

/// Goes on with `text` in whatever state its sequence is, which has all of its tokens but the last.
fn resume(context: &mut Context, text: Text, tokens: usize) -> (Vec<Token>, Count) {
  let wanted = text.history.len() + tokens;
  let mut texts = [Text { wanted, ..text }];
  let count = go_on(context, &mut texts, 3);
  let [text] = texts;
  (text.history, count)
}

#[test]
fn copies_restored_snapshots_and_shifts_leave_the_text_as_it_is() {
  for name in ["heads-carry.gguf", "heads-history.gguf", "heads-two.gguf"] {
    let model = with_heads(name);
    let expected = plain(&model, "hello w003", 100);
    let mut context = drafting(&model, 3, 3);
    let mut texts = [Text::new(&model, &context, 0, "hello w003", 40)];
    start(&mut context, &mut texts);
    go_on(&mut context, &mut texts, 3);
    let [text] = texts;
    let length = text.history.len() - 1;
    let again = |context: &Context, sequence| Text {
      history: text.history.clone(),
      ..Text::new(&model, context, sequence, "hello w003", 0)
    };
    assert!(context.copy(0, 1, length));
    let state = context.snapshot(0).unwrap();
    assert!(context.restore(2, &state));
    for sequence in [1, 2, 0] {
      let text = again(&context, sequence);
      let (tokens, count) = resume(&mut context, text, 60);
      assert_eq!(tokens, expected, "{name}, sequence {sequence}");
      assert!(count.accepted > 5, "{name}, sequence {sequence}: {count:?}");
    }
    // Emptied, and filled by another text from somewhere in the middle on.
    assert!(context.truncate(1, 0));
    assert!(context.restore(1, &state) && context.truncate(1, length - 20));
    let cut = Text { history: text.history[..length - 19].to_vec(), ..again(&context, 1) };
    assert_eq!(resume(&mut context, cut, 80).0, expected, "{name}");
    assert!(context.truncate(0, 0));
    assert!(context.truncate(2, 0));
    if context.shift(1, 4, 30) {
      let mut moved = expected[..4].to_vec();
      moved.extend_from_slice(&expected[34..]);
      let text = Text { history: moved, ..again(&context, 1) };
      let count = resume(&mut context, text, 40).1;
      assert!(count.accepted > 5, "{name}: {count:?}");
    }
  }
}

#[test]
fn an_interrupted_prefill_goes_on() {
  let model = with_heads("heads-history.gguf");
  let prompt = format!("hello{}", " w003 w017".repeat(40));
  let mut context = drafting(&model, 1, 3);
  let tokens = model.tokenize(&prompt, true, true).unwrap();
  let batch: Vec<_> = tokens
    .iter()
    .enumerate()
    .take(100)
    .map(|(position, &token)| token_of(0, token, position, false))
    .collect();
  let polls = std::cell::Cell::new(0);
  let poll = |most: usize| {
    polls.set(polls.get() + 1);
    polls.get() > most
  };
  assert_eq!(context.decode(&batch, &|| poll(usize::MAX)).unwrap(), Decoded::Complete);
  assert!(context.truncate(0, 0));
  // In the second of two micro-batches.
  let most = polls.replace(0) * 3 / 4;
  assert_eq!(context.decode(&batch, &|| poll(most)).unwrap(), Decoded::Interrupted);
  assert_eq!(context.length(0), 64);
  let mut texts = [Text::new(&model, &context, 0, &prompt, 60)];
  start(&mut context, &mut texts);
  let count = go_on(&mut context, &mut texts, 3);
  assert_eq!(texts[0].history, plain(&model, &prompt, 60));
  assert!(count.accepted > 0, "{count:?}");
}

/// What the heads have in their cache after drafts, truncations and other sequences is what they have after reading the text.
#[test]
fn drafts_depend_on_the_text_alone() {
  for name in
    ["heads-history.gguf", "heads-two.gguf", "glm4moe.gguf", "cohere2moe.gguf", "mimo2.gguf", "step35.gguf"]
  {
    let model = with_heads(name);
    let mut context = drafting(&model, 2, 3);
    let texts = (0..).zip(["hello w003", "w050"]);
    let mut texts: Vec<_> =
      texts.map(|(sequence, prompt)| Text::new(&model, &context, sequence, prompt, 20)).collect();
    start(&mut context, &mut texts);
    for _ in 0..6 {
      go_on(&mut context, &mut texts, 3);
      for text in &mut texts {
        let mut fresh = drafting(&model, 1, 3);
        let mut read = [Text::new(&model, &fresh, 0, "", 0)];
        read[0].history = text.history[..text.history.len() - 1].to_vec();
        start(&mut fresh, &mut read);
        assert_eq!(read[0].history, text.history, "{name}");
        let draft = |context: &mut Context, sequence| {
          context.draft(&[DraftRequest {
            sequence,
            history: &history_of(&text.history),
            most: 3,
            draw: None,
          }])
        };
        assert_eq!(draft(&mut context, text.sequence), draft(&mut fresh, 0), "{name}");
        text.wanted += 15;
      }
    }
  }
}
