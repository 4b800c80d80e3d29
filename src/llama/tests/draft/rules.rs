//! Where drafts end, are given up or are refused.

use super::*;

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
      let request =
        DraftRequest { sequence: 0, history: &history_of(&texts[0].history), most: 4, draw: None };
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
    let count = second_turn(&model, &mut context, drafter);
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
  assert!(context.truncate(0, length - 4));
  assert!(!context.truncate(0, 100));
  assert_eq!(context.length(0), length - 4);
}

#[test]
fn the_end_of_the_context_is_reached_with_the_same_tokens() {
  let model = load("target.gguf");
  let mut context = open(&model, 1, Some(("drafter-100.gguf", 8)));
  fill_context(&model, &mut context);
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
    DraftRequest { sequence: 0, history: &history_of(&longer), most: 3, draw: None },
    DraftRequest { sequence: 1, history: &history_of(&texts[0].history), most: 3, draw: None },
    DraftRequest { sequence: 0, history: &history_of(&[]), most: 3, draw: None },
  ]);
  assert!(drafts.iter().all(Vec::is_empty), "{drafts:?}");
  let request = DraftRequest { sequence: 0, history: &history_of(&texts[0].history), most: 3, draw: None };
  assert_eq!(context.draft(&[request])[0].len(), 3);
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
