//! Prompts with media between their texts.

use local_inference_core::decoder::{BatchToken, Decode, Decoded, MediaPlace};
use local_inference_core::durable::Stored;
use local_inference_core::error::{ErrorCode, Result};
use local_inference_core::generate::FinishReason;
use local_inference_core::history::{History, Media};
use local_inference_core::options::{ContextFull, GenerateOptions, QueueOptions};
use local_inference_core::schedule::Arrival;

use crate::support::fake::{Memory, Setup};
use crate::support::solo::{Bench, arrival_of, limit, prompt, solo_of};

pub(super) const MEMORIES: [Memory; 3] = [Memory::Full, Memory::Window(4), Memory::Recurrent];

/// An image of twelve cells and four positions.
pub(super) fn image(id: u64) -> Media {
  let count = |number: u32| number.try_into().expect("at least 1");
  Media { id: [id, 0], cells: count(12), positions: count(4) }
}

/// Text, an image, text.
fn around(before: usize, id: u64, salt: i32, after: usize) -> History {
  let mut history = History::from(prompt(1, before));
  history.push_media(image(id));
  history.extend_from_slice(&prompt(salt, after));
  history
}

pub(super) fn answer(tokens: u32) -> GenerateOptions {
  GenerateOptions { ignore_eos: true, ..limit(tokens) }
}

fn evaluated(bench: &Bench) -> (usize, usize) {
  bench.fake.with(|state| (state.media.len(), state.evaluated))
}

#[test]
fn what_follows_an_image_is_at_the_position_after_it() {
  let mut bench = Bench::new(Setup::default());
  let ticket = bench.submit_history(&around(10, 7, 2, 3), answer(4));
  bench.drain();
  let usage = ticket.inbox.finished().usage;
  assert_eq!((usage.prompt_tokens, usage.completion_tokens), (25, 4));
  let (media, positions) = bench.fake.with(|state| {
    let positions: Vec<_> = state.batches.iter().flatten().map(|token| token.position).collect();
    (state.media.clone(), positions)
  });
  assert_eq!(media, [MediaPlace { media: image(7), position: 10, sequence: 0 }]);
  assert_eq!(positions, [(0..10).collect::<Vec<_>>(), (14..20).collect()].concat());
}

#[test]
fn the_same_image_is_evaluated_once() {
  for memory in MEMORIES {
    let mut bench = Bench::new(Setup { parallel: 2, cache: 1 << 16, memory, ..Setup::default() });
    for salt in [2, 3, 4] {
      let prompt = around(10, 7, salt, 20);
      let ticket = bench.submit_history(&prompt, answer(4));
      bench.drain();
      assert_eq!(ticket.inbox.outcome(), solo_of(bench.fake.setup, &prompt, answer(4)), "{memory:?}");
    }
    // Where memory cannot go back, the second prompt shows where prompts branch off.
    let expected = if memory == Memory::Full { 1 } else { 2 };
    assert_eq!(evaluated(&bench).0, expected, "{memory:?}");
  }
}

#[test]
fn another_image_takes_the_text_before_it_alone() {
  let mut bench = Bench::new(Setup::default());
  for id in [7, 8] {
    let prompt = around(10, id, 2, 3);
    let ticket = bench.submit_history(&prompt, answer(4));
    bench.drain();
    assert_eq!(ticket.inbox.outcome(), solo_of(Setup::default(), &prompt, answer(4)));
    let cached = ticket.inbox.finished().usage.cached_prompt_tokens;
    assert_eq!(cached, if id == 7 { 0 } else { 10 });
  }
}

#[test]
fn an_image_comes_back_from_a_snapshot() {
  for memory in MEMORIES {
    let setup = Setup { cache: 1 << 16, memory, ..Setup::default() };
    let mut bench = Bench::new(setup);
    let seen = around(10, 7, 2, 9);
    bench.submit_history(&seen, answer(4));
    bench.drain();
    bench.run(&prompt(5, 60), answer(4));
    let ticket = bench.submit_history(&seen, answer(4));
    bench.drain();
    assert_eq!(ticket.inbox.outcome(), solo_of(setup, &seen, answer(4)), "{memory:?}");
    assert_eq!((evaluated(&bench).0, bench.fake.with(|state| state.restored)), (1, 1), "{memory:?}");
    assert_eq!(ticket.inbox.finished().usage.cached_prompt_tokens, 30);
  }
}

#[test]
fn a_stored_conversation_goes_on_after_its_image() {
  for memory in MEMORIES {
    let setup = Setup { durable: true, cache: 1 << 16, memory, ..Setup::default() };
    let queue = QueueOptions { conversation: Some("a".to_owned()), ..QueueOptions::default() };
    let options = GenerateOptions { queue, ..answer(4) };
    let mut bench = Bench::new(setup);
    bench.submit_history(&around(10, 7, 2, 9), options.clone());
    bench.drain();
    let saved = bench.scheduler.take_saves().remove(0).saved;
    assert_eq!(saved.history.len_cells(), 10 + 12 + 9 + 3);
    let mut turn = saved.history.clone();
    turn.extend_from_slice(&prompt(3, 6));
    let mut bench = Bench::new(setup);
    let (ticket, arrival) = arrival_of(turn.clone(), options.clone());
    bench.scheduler.submit(Arrival { stored: Stored::Found(saved), ..arrival });
    bench.drain();
    assert_eq!(ticket.inbox.outcome(), solo_of(setup, &turn, options), "{memory:?}");
    assert_eq!((evaluated(&bench), ticket.inbox.finished().usage.cached_prompt_tokens), ((0, 6 + 3), 34));
  }
}

#[test]
fn streams_go_on_while_images_are_evaluated() {
  let mut bench = Bench::new(Setup { parallel: 3, ..Setup::default() });
  let stream = bench.submit(&prompt(3, 3), answer(40));
  bench.scheduler.step();
  let first = bench.submit_history(&around(2, 7, 2, 3), answer(2));
  let second = bench.submit_history(&around(2, 8, 2, 3), answer(2));
  for step in 2..6 {
    bench.scheduler.step();
    assert_eq!(stream.inbox.tokens(), step);
  }
  bench.drain();
  assert_eq!((first.inbox.tokens(), second.inbox.tokens(), evaluated(&bench).0), (2, 2, 2));
}

#[test]
fn an_image_that_is_interrupted_is_evaluated_again() {
  for memory in MEMORIES {
    let setup = Setup { parallel: 2, memory, ..Setup::default() };
    let mut bench = Bench::new(setup);
    let seen = around(10, 7, 2, 9);
    let ticket = bench.submit_history(&seen, answer(4));
    // Ten tokens are three micro-batches; the fourth decode is that of the image.
    bench.fake.with(|state| state.cancels.push((4, ticket.cancel.clone())));
    bench.drain();
    assert_eq!(ticket.inbox.finished().reason, FinishReason::Cancelled);
    assert_eq!(evaluated(&bench).0, 0);
    let ticket = bench.submit_history(&seen, answer(4));
    bench.drain();
    assert_eq!(ticket.inbox.outcome(), solo_of(setup, &seen, answer(4)), "{memory:?}");
  }
}

#[test]
fn a_prompt_that_ends_with_an_image_is_refused() {
  let mut bench = Bench::new(Setup::default());
  let ticket = bench.submit_history(&around(10, 7, 2, 0), answer(4));
  let (code, message) = ticket.inbox.failure();
  assert_eq!(code, ErrorCode::InvalidInput);
  assert!(message.contains("ends with media"), "{message}");
}

#[test]
fn cells_decide_whether_a_prompt_fits_not_positions() {
  let mut bench = Bench::new(Setup { context: 25, ..Setup::default() });
  let ticket = bench.submit_history(&around(10, 7, 2, 3), answer(4));
  assert_eq!(ticket.inbox.failure().0, ErrorCode::ContextOverflow);
  let ticket = bench.submit_history(&around(9, 7, 2, 3), answer(4));
  bench.drain();
  assert_eq!(ticket.inbox.finished().reason, FinishReason::Context);
}

#[test]
fn a_full_context_forgets_images_as_a_whole() {
  let queue = QueueOptions { context_full: ContextFull::Shift { keep: 4 }, ..QueueOptions::default() };
  let options = GenerateOptions { queue, ..answer(60) };
  let mut bench = Bench::new(Setup { context: 40, ..Setup::default() });
  let ticket = bench.submit_history(&around(6, 7, 2, 10), options.clone());
  bench.drain();
  assert_eq!(ticket.inbox.tokens(), 60);
  // Half of what follows the first four cells ends within the image.
  let mut bench = Bench::new(Setup { context: 40, ..Setup::default() });
  let ticket = bench.submit_history(&around(16, 7, 2, 6), options);
  bench.drain();
  assert_eq!(ticket.inbox.tokens(), 60);
}

#[test]
fn a_context_without_media_says_so() {
  struct TextAlone;
  impl Decode for TextAlone {
    fn batch_size(&self) -> usize {
      1
    }
    fn context_size(&self) -> usize {
      1
    }
    fn decode(&mut self, _: &[BatchToken], _: &dyn Fn() -> bool) -> Result<Decoded> {
      Ok(Decoded::Complete)
    }
  }
  let place = MediaPlace { media: image(1), position: 0, sequence: 0 };
  let error = TextAlone.decode_media(place, &|| false).expect_err("no media");
  assert_eq!(error.code(), ErrorCode::Unsupported);
}
