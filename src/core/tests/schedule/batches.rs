//! Who gets how much of a batch.

use local_inference_core::options::{GenerateOptions, Lane};

use crate::support::fake::Setup;
use crate::support::solo::{Bench, Ticket, in_lane, limit, prompt};

fn endless() -> GenerateOptions {
  GenerateOptions { ignore_eos: true, ..limit(40) }
}

fn tokens(tickets: &[Ticket]) -> Vec<usize> {
  tickets.iter().map(|ticket| ticket.inbox.tokens()).collect()
}

#[test]
fn a_long_prefill_does_not_hold_up_running_streams() {
  let mut bench = Bench::new(Setup { parallel: 3, batch: 48, ..Setup::default() });
  let streams = [bench.submit(&prompt(1, 3), endless()), bench.submit(&prompt(2, 3), endless())];
  bench.scheduler.step();
  let late = bench.submit(&prompt(3, 70), endless());
  for step in 2..12 {
    bench.scheduler.step();
    assert_eq!(tokens(&streams), [step, step]);
  }
  // An eighth of ten batches, and one token each, were the newcomer's.
  assert_eq!(late.inbox.tokens(), 1);
}

#[test]
fn nothing_but_prefill_fills_the_batches() {
  let mut bench = Bench::new(Setup { parallel: 2, batch: 8, ..Setup::default() });
  bench.submit(&prompt(1, 30), endless());
  bench.submit(&prompt(2, 60), endless());
  for _ in 0..4 {
    bench.scheduler.step();
  }
  bench.fake.with(|state| assert!(state.batches.iter().all(|batch| batch.len() == 8)));
}

#[test]
fn prefill_is_the_smaller_the_more_urgent_the_requests_beside_it() {
  use Lane::{Background, Interactive, Normal};
  for (own, other, expected) in [
    (Normal, None, 64),
    (Background, None, 1 + 4),
    (Normal, Some(Interactive), 1 + 4),
    (Normal, Some(Normal), 1 + 8),
    (Normal, Some(Background), 1 + 62),
    (Background, Some(Interactive), 1 + 4),
    (Background, Some(Background), 1 + 8),
  ] {
    let mut bench = Bench::new(Setup { parallel: 2, batch: 64, ..Setup::default() });
    if let Some(lane) = other {
      bench.submit(&prompt(1, 1), in_lane(lane, 40));
      bench.scheduler.step();
    }
    bench.submit(&prompt(2, 100), in_lane(own, 40));
    bench.scheduler.step();
    let last = bench.fake.with(|state| state.batches.last().unwrap().len());
    assert_eq!(last - usize::from(other.is_some()), expected, "{own:?} beside {other:?}");
  }
}

#[test]
fn a_batch_smaller_than_the_number_of_streams_goes_round() {
  for batch in [1, 2, 3] {
    let mut bench = Bench::new(Setup { parallel: 4, batch, micro_batch: 1, ..Setup::default() });
    let tickets: Vec<_> = (1..5).map(|salt| bench.submit(&prompt(salt, 1), endless())).collect();
    for _ in 0..60 {
      bench.scheduler.step();
      let tokens = tokens(&tickets);
      assert!(tokens.iter().max().unwrap() - tokens.iter().min().unwrap() <= 1, "{tokens:?}");
    }
  }
}

#[test]
fn a_prefill_goes_on_beside_more_streams_than_the_batch_has_places() {
  let mut bench = Bench::new(Setup { parallel: 4, batch: 2, micro_batch: 1, ..Setup::default() });
  for salt in 1..4 {
    bench.submit(&prompt(salt, 1), endless());
  }
  let late = bench.submit(&prompt(4, 10), endless());
  for _ in 0..24 {
    bench.scheduler.step();
  }
  assert!(late.inbox.tokens() > 0);
}

#[test]
fn of_several_prefills_the_oldest_is_done_first() {
  let mut bench = Bench::new(Setup { parallel: 2, batch: 8, ..Setup::default() });
  let tickets = [bench.submit(&prompt(1, 28), endless()), bench.submit(&prompt(2, 28), endless())];
  let mut first = Vec::new();
  for step in 0..20 {
    bench.scheduler.step();
    first.push(tokens(&tickets));
    assert!(step > 6 || tickets[1].inbox.tokens() == 0);
  }
  assert_eq!(first[3], [1, 0]);
  assert!(tickets[1].inbox.tokens() > 0);
}

#[test]
fn newcomers_do_not_push_a_stream_aside() {
  let mut bench = Bench::new(Setup { parallel: 3, batch: 1, micro_batch: 1, ..Setup::default() });
  let stream = bench.submit(&prompt(1, 1), endless());
  for step in 0..60 {
    bench.submit(&prompt(2 + step % 7, 1), limit(1));
    bench.scheduler.step();
  }
  assert!(stream.inbox.tokens() >= 20, "{} tokens in 60 batches of one", stream.inbox.tokens());
}
