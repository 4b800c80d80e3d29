//! Who goes before whom.

use local_inference_core::options::Lane::{self, Background, Interactive, Normal};
use local_inference_core::schedule::{Activity, PATIENCE};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::fake::{Memory, Setup};
use crate::support::solo::{Bench, Ticket, in_lane, prompt, solo};

/// The order in which requests end.
fn endings(bench: &mut Bench, tickets: &[Ticket]) -> Vec<usize> {
  let mut order = Vec::new();
  while bench.scheduler.step() != Activity::Idle {
    for (index, ticket) in tickets.iter().enumerate() {
      if ticket.inbox.ended() && !order.contains(&index) {
        order.push(index);
      }
    }
  }
  order
}

#[test]
fn waiting_requests_start_by_lane_and_within_one_by_age() {
  let mut bench = Bench::new(Setup::default());
  let lanes = [Normal, Background, Normal, Interactive, Background, Interactive];
  let tickets: Vec<_> =
    (1..).zip(lanes).map(|(salt, lane)| bench.submit(&prompt(salt, 3), in_lane(lane, 2))).collect();
  assert_eq!(endings(&mut bench, &tickets), [3, 5, 0, 2, 1, 4]);
}

#[test]
fn a_background_request_gives_its_sequence_at_a_token_border_and_loses_nothing() {
  for memory in [Memory::Full, Memory::Window(3), Memory::Recurrent] {
    let setup = Setup { memory, cache: 1 << 16, ..Setup::default() };
    let mut bench = Bench::new(setup);
    let background = bench.submit(&prompt(1, 30), in_lane(Background, 40));
    for _ in 0..20 {
      bench.scheduler.step();
    }
    let so_far = background.inbox.tokens();
    let urgent = bench.submit(&prompt(2, 10), in_lane(Normal, 5));
    // Memory that cannot go back takes a snapshot before the last token of the prompt.
    bench.scheduler.step();
    bench.scheduler.step();
    assert_eq!((background.inbox.tokens(), bench.scheduler.metrics().paused), (so_far, 1));
    assert!(urgent.inbox.tokens() > 0);
    bench.drain();
    assert_eq!(urgent.inbox.outcome(), solo(setup, &prompt(2, 10), in_lane(Normal, 5)));
    assert_eq!(background.inbox.outcome(), solo(setup, &prompt(1, 30), in_lane(Background, 40)));
    // Every token was evaluated once.
    assert_eq!(bench.fake.with(|state| state.evaluated), 30 + 39 + 10 + 4, "{memory:?}");
  }
}

#[test]
fn a_paused_request_is_evaluated_again_where_no_snapshots_are_kept() {
  let setup = Setup::default();
  let mut bench = Bench::new(setup);
  let background = bench.submit(&prompt(1, 30), in_lane(Background, 40));
  for _ in 0..20 {
    bench.scheduler.step();
  }
  bench.submit(&prompt(2, 10), in_lane(Interactive, 5));
  bench.drain();
  assert_eq!(background.inbox.outcome(), solo(setup, &prompt(1, 30), in_lane(Background, 40)));
}

#[test]
fn only_background_requests_are_paused_and_only_by_other_lanes() {
  for (running, waiting, paused) in [
    (Normal, Interactive, 0),
    (Interactive, Interactive, 0),
    (Background, Background, 0),
    (Background, Normal, 1),
    (Background, Interactive, 1),
  ] {
    let mut bench = Bench::new(Setup::default());
    bench.submit(&prompt(1, 3), in_lane(running, 40));
    bench.scheduler.step();
    bench.submit(&prompt(2, 3), in_lane(waiting, 40));
    bench.scheduler.step();
    assert_eq!(bench.scheduler.metrics().paused, paused, "{waiting:?} beside {running:?}");
  }
}

#[test]
fn an_urgent_request_takes_the_cells_of_a_background_one() {
  let setup = Setup { parallel: 2, context: 64, cache: 1 << 16, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let background = bench.submit(&prompt(1, 30), in_lane(Background, 30));
  for _ in 0..20 {
    bench.scheduler.step();
  }
  let urgent = bench.submit(&prompt(2, 40), in_lane(Interactive, 20));
  bench.scheduler.step();
  bench.scheduler.step();
  bench.scheduler.step();
  assert!(urgent.inbox.tokens() > 0 && !background.inbox.ended());
  bench.drain();
  assert_eq!(background.inbox.outcome(), solo(setup, &prompt(1, 30), in_lane(Background, 30)));
  assert_eq!(urgent.inbox.outcome(), solo(setup, &prompt(2, 40), in_lane(Interactive, 20)));
  assert_eq!(bench.fake.with(|state| state.evaluated), 30 + 29 + 40 + 19);
}

#[test]
fn a_cancelled_paused_request_ends_at_once() {
  let mut bench = Bench::new(Setup::default());
  let background = bench.submit(&prompt(1, 3), in_lane(Background, 40));
  bench.scheduler.step();
  bench.submit(&prompt(2, 3), in_lane(Normal, 40));
  bench.scheduler.step();
  background.cancel.cancel();
  bench.scheduler.step();
  assert_eq!((background.inbox.endings(), bench.scheduler.metrics().paused), (1, 0));
}

#[test]
fn a_background_request_gets_its_turn_in_a_stream_of_urgent_ones() {
  let mut bench = Bench::new(Setup::default());
  let patient = bench.submit(&prompt(1, 3), in_lane(Background, 1));
  let mut others = 0;
  while !patient.inbox.ended() {
    bench.submit(&prompt(2 + others % 9, 3), in_lane(Interactive, 1));
    bench.scheduler.step();
    others += 1;
    assert!(others < 100, "it starves");
  }
  assert!(others > i32::try_from(PATIENCE).unwrap());
}

fn lane() -> impl Strategy<Value = Lane> {
  prop_oneof![Just(Interactive), Just(Normal), Just(Background)]
}

proptest! {
  #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

  /// Whatever comes, a request is overtaken by a bounded number of younger ones.
  #[test]
  fn no_request_starves(arrivals in vec((lane(), 1_u32..4, 0_usize..3), 1..150), parallel in 1_u32..4) {
    let mut bench = Bench::new(Setup { parallel, ..Setup::default() });
    let mut tickets = Vec::new();
    let mut ended = Vec::new();
    let collect = |tickets: &[Ticket], ended: &mut Vec<usize>| {
      for (index, ticket) in tickets.iter().enumerate() {
        if ticket.inbox.ended() && !ended.contains(&index) {
          ended.push(index);
        }
      }
    };
    for (lane, tokens, steps) in arrivals {
      tickets.push(bench.submit(&prompt(i32::try_from(tickets.len()).unwrap() % 9, 2), in_lane(lane, tokens)));
      for _ in 0..steps {
        bench.scheduler.step();
        collect(&tickets, &mut ended);
      }
    }
    while bench.scheduler.step() != Activity::Idle {
      collect(&tickets, &mut ended);
    }
    for (place, &request) in ended.iter().enumerate() {
      let overtaking = ended[..place].iter().filter(|&&other| other > request).count();
      // Those that started beside it may end before it.
      prop_assert!(overtaking <= 2 * PATIENCE + parallel as usize * 4, "request {request}: {overtaking}");
    }
    prop_assert_eq!(ended.len(), tickets.len());
  }

  /// An urgent request never waits for a background one.
  #[test]
  fn an_urgent_request_starts_with_the_next_batch(parallel in 1_u32..4, steps in 1_usize..30, memory in 0_usize..3) {
    let memory = [Memory::Full, Memory::Window(2), Memory::Recurrent][memory];
    let setup = Setup { parallel, memory, cache: 4_000, ..Setup::default() };
    let mut bench = Bench::new(setup);
    let background: Vec<_> =
      (1..=8).map(|salt| bench.submit(&prompt(salt, 20), in_lane(Background, 30))).collect();
    for _ in 0..steps {
      bench.scheduler.step();
    }
    let urgent = bench.submit(&prompt(9, 1), in_lane(Interactive, 3));
    bench.scheduler.step();
    prop_assert_eq!(urgent.inbox.tokens(), 1);
    bench.drain();
    for (salt, ticket) in (1..).zip(&background) {
      prop_assert_eq!(ticket.inbox.outcome(), solo(setup, &prompt(salt, 20), in_lane(Background, 30)));
    }
  }
}
