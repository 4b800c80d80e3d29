//! Consumers that read slowly.

use local_inference_core::options::GenerateOptions;
use local_inference_core::schedule::Activity;

use crate::support::fake::Setup;
use crate::support::solo::{Bench, limit, prompt, solo};

fn endless() -> GenerateOptions {
  GenerateOptions { ignore_eos: true, ..limit(20) }
}

#[test]
fn a_full_sink_pauses_only_its_own_request() {
  let setup = Setup { parallel: 2, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let (slow, fast) = (bench.submit(&prompt(1, 5), endless()), bench.submit(&prompt(2, 5), endless()));
  for _ in 0..3 {
    bench.scheduler.step();
  }
  slow.inbox.set_ready(false);
  while bench.scheduler.step() == Activity::Worked {}
  assert_eq!(slow.inbox.tokens(), 3);
  assert_eq!(fast.inbox.outcome(), solo(setup, &prompt(2, 5), endless()));
  slow.inbox.set_ready(true);
  bench.drain();
  assert_eq!(slow.inbox.outcome(), solo(setup, &prompt(1, 5), endless()));
}

#[test]
fn when_every_sink_is_full_the_scheduler_is_blocked_and_decodes_nothing() {
  let mut bench = Bench::new(Setup { parallel: 2, ..Setup::default() });
  let tickets = [bench.submit(&prompt(1, 5), endless()), bench.submit(&prompt(2, 5), endless())];
  bench.scheduler.step();
  for ticket in &tickets {
    ticket.inbox.set_ready(false);
  }
  let batches = bench.fake.with(|state| state.batches.len());
  for _ in 0..5 {
    assert_eq!(bench.scheduler.step(), Activity::Blocked);
  }
  assert_eq!(bench.fake.with(|state| state.batches.len()), batches);
}

#[test]
fn a_request_whose_consumer_does_not_read_gives_its_sequence_to_one_that_waits() {
  let setup = Setup::default();
  let mut bench = Bench::new(setup);
  let slow = bench.submit(&prompt(1, 5), endless());
  bench.scheduler.step();
  slow.inbox.set_ready(false);
  let waiting = bench.submit(&prompt(2, 5), endless());
  while bench.scheduler.step() == Activity::Worked {}
  assert_eq!(waiting.inbox.outcome(), solo(setup, &prompt(2, 5), endless()));
  assert_eq!((bench.scheduler.step(), bench.scheduler.metrics().paused), (Activity::Blocked, 1));
  slow.inbox.set_ready(true);
  bench.drain();
  assert_eq!(slow.inbox.outcome(), solo(setup, &prompt(1, 5), endless()));
}

#[test]
fn a_sink_that_takes_one_piece_at_a_time_gets_each_once() {
  let setup = Setup::default();
  let mut bench = Bench::new(setup);
  let ticket = bench.submit(&prompt(1, 40), endless());
  let mut blocked = 0;
  while !ticket.inbox.ended() {
    let before = ticket.inbox.tokens();
    ticket.inbox.set_ready(true);
    while ticket.inbox.tokens() == before && !ticket.inbox.ended() {
      bench.scheduler.step();
    }
    ticket.inbox.set_ready(false);
    assert!(ticket.inbox.tokens() <= before + 1);
    blocked += usize::from(bench.scheduler.step() == Activity::Blocked);
  }
  assert_eq!(blocked, 19);
  assert_eq!(ticket.inbox.outcome(), solo(setup, &prompt(1, 40), endless()));
}

#[test]
fn nothing_is_evaluated_for_a_sink_that_is_full_from_the_start() {
  let mut bench = Bench::new(Setup::default());
  let ticket = bench.submit(&prompt(1, 40), endless());
  ticket.inbox.set_ready(false);
  bench.scheduler.step();
  assert_eq!(bench.scheduler.step(), Activity::Blocked);
  assert_eq!(bench.fake.with(|state| state.evaluated), 0);
}

#[test]
fn a_blocked_request_can_be_cancelled() {
  let mut bench = Bench::new(Setup::default());
  let ticket = bench.submit(&prompt(1, 5), endless());
  bench.scheduler.step();
  ticket.inbox.set_ready(false);
  assert_eq!(bench.scheduler.step(), Activity::Blocked);
  ticket.cancel.cancel();
  assert_eq!(bench.scheduler.step(), Activity::Worked);
  assert_eq!((ticket.inbox.endings(), bench.scheduler.step()), (1, Activity::Idle));
}
