//! KV caches that are handed out to be stored, and taken back.

use local_inference_core::decoder::Token;
use local_inference_core::durable::{Saved, Stored};
use local_inference_core::options::{GenerateOptions, QueueOptions};

use crate::support::fake::{Memory, Setup};
use crate::support::solo::{Bench, limit, prompt, solo};

fn named(name: &str) -> GenerateOptions {
  let queue = QueueOptions { conversation: Some(name.to_owned()), ..QueueOptions::default() };
  GenerateOptions { ignore_eos: true, queue, ..limit(5) }
}

fn setup(memory: Memory) -> Setup {
  Setup { memory, durable: true, cache: 1 << 16, ..Setup::default() }
}

/// What a first turn of `prompt` leaves to be stored.
fn first_turn(setup: Setup, prompt: &[Token]) -> Saved {
  let mut bench = Bench::new(setup);
  bench.run(prompt, named("a"));
  let mut saves = bench.scheduler.take_saves();
  assert_eq!((saves.len(), &*saves[0].conversation, bench.scheduler.take_saves().len()), (1, "a", 0));
  saves.remove(0).saved
}

#[test]
fn a_new_scheduler_goes_on_where_another_ended() {
  for memory in [Memory::Full, Memory::Window(4), Memory::Recurrent] {
    let setup = setup(memory);
    let saved = first_turn(setup, &prompt(1, 30));
    let tokens = saved.history.as_text().expect("text alone").to_vec();
    assert_eq!((tokens.len(), &tokens[..30]), (34, &prompt(1, 30)[..]));
    let turn = [&tokens[..], &prompt(2, 6)].concat();
    let mut bench = Bench::new(setup);
    let ticket = bench.submit_stored(&turn, named("a"), Stored::Found(saved));
    bench.drain();
    assert_eq!(ticket.inbox.outcome(), solo(setup, &turn, named("a")));
    assert_eq!(ticket.inbox.finished().usage.cached_prompt_tokens, 34);
    assert_eq!(bench.fake.with(|state| state.evaluated), 6 + 4);
  }
}

#[test]
fn stored_tokens_of_another_course_help_as_far_as_they_agree() {
  let saved = first_turn(setup(Memory::Full), &prompt(1, 30));
  let turn = [&prompt(1, 20)[..], &prompt(2, 6)].concat();
  let mut bench = Bench::new(setup(Memory::Full));
  let ticket = bench.submit_stored(&turn, named("a"), Stored::Found(saved));
  bench.drain();
  assert_eq!(ticket.inbox.finished().usage.cached_prompt_tokens, 20);
}

#[test]
fn an_unusable_file_is_named_in_the_usage_and_harms_nothing() {
  let mut bench = Bench::new(setup(Memory::Full));
  let ticket =
    bench.submit_stored(&prompt(1, 30), named("a"), Stored::Ignored("of another model".to_owned()));
  bench.drain();
  assert_eq!(ticket.inbox.finished().usage.state_ignored.as_deref(), Some("of another model"));
  assert_eq!(ticket.inbox.outcome(), solo(setup(Memory::Full), &prompt(1, 30), named("a")));
}

#[test]
fn nothing_is_handed_out_where_nothing_is_stored() {
  let mut bench = Bench::new(Setup { durable: false, ..setup(Memory::Full) });
  bench.run(&prompt(1, 30), named("a"));
  assert!(bench.scheduler.take_saves().is_empty());
  let mut bench = Bench::new(setup(Memory::Full));
  bench.run(&prompt(1, 30), limit(5));
  assert!(bench.scheduler.take_saves().is_empty());
}

#[test]
fn a_conversation_that_left_memory_is_named_once() {
  let mut bench = Bench::new(Setup { cache: 0, ..setup(Memory::Full) });
  bench.run(&prompt(1, 30), named("a"));
  assert!(bench.scheduler.take_lost().is_empty(), "its sequence still holds it");
  bench.run(&prompt(2, 30), limit(5));
  assert_eq!(bench.scheduler.take_lost(), [std::sync::Arc::from("a")]);
  bench.run(&prompt(3, 30), limit(5));
  assert!(bench.scheduler.take_lost().is_empty());
}
