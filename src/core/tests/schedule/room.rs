//! Requests that together need more cells than the KV cache has.

use local_inference_core::generate::FinishReason;
use local_inference_core::options::GenerateOptions;
use local_inference_core::schedule::Activity;

use crate::support::fake::{Memory, Setup};
use crate::support::solo::{Bench, PATIENCE, limit, prompt, solo};

fn endless(tokens: u32) -> GenerateOptions {
  GenerateOptions { ignore_eos: true, ..limit(tokens) }
}

#[test]
fn tokens_kept_for_later_requests_give_way_to_running_ones() {
  let setup = Setup { parallel: 2, context: 64, ..Setup::default() };
  let mut bench = Bench::new(setup);
  bench.run(&prompt(1, 40), limit(1));
  let inbox = bench.run(&prompt(2, 40), endless(20));
  assert_eq!(inbox.outcome(), solo(setup, &prompt(2, 40), endless(20)));
  assert_eq!(bench.fake.with(|state| state.cells[1].len().min(state.cells[0].len())), 0);
}

#[test]
fn tokens_kept_for_later_requests_stay_while_there_is_room() {
  let mut bench = Bench::new(Setup { parallel: 2, context: 128, ..Setup::default() });
  bench.run(&prompt(1, 40), limit(1));
  bench.run(&prompt(2, 40), endless(20));
  assert_eq!(bench.run(&prompt(1, 40), limit(1)).finished().usage.cached_prompt_tokens, 39);
}

#[test]
fn running_requests_that_outgrow_the_context_give_what_each_gives_alone() {
  for memory in [Memory::Full, Memory::Recurrent] {
    for parallel in [2, 3, 4] {
      let setup = Setup { parallel, context: 64, memory, ..Setup::default() };
      let mut bench = Bench::new(setup);
      let tickets: Vec<_> = (1..6).map(|salt| bench.submit(&prompt(salt, 10), endless(40))).collect();
      bench.drain();
      for (salt, ticket) in (1..).zip(&tickets) {
        assert_eq!(ticket.inbox.outcome(), solo(setup, &prompt(salt, 10), endless(40)), "request {salt}");
      }
    }
  }
}

#[test]
fn each_of_several_unlimited_requests_may_fill_the_whole_context() {
  let setup = Setup { parallel: 3, context: 64, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let options = GenerateOptions { max_tokens: None, ..endless(1) };
  let tickets: Vec<_> = (1..4).map(|salt| bench.submit(&prompt(salt, 10), options.clone())).collect();
  bench.drain();
  for (salt, ticket) in (1..).zip(&tickets) {
    let outcome = ticket.inbox.outcome();
    assert_eq!((outcome.tokens, outcome.reason), (55, FinishReason::Context));
    assert_eq!(outcome, solo(setup, &prompt(salt, 10), options.clone()));
  }
}

#[test]
fn the_older_request_goes_on_without_a_pause() {
  let mut bench = Bench::new(Setup { parallel: 2, context: 64, ..Setup::default() });
  let older = bench.submit(&prompt(1, 10), endless(50));
  let younger = bench.submit(&prompt(2, 10), endless(50));
  for step in 0..50 {
    assert_eq!(older.inbox.tokens(), step);
    bench.scheduler.step();
  }
  assert!(older.inbox.ended() && !younger.inbox.ended());
}

#[test]
fn a_request_that_lost_its_cells_does_not_come_back_to_lose_them_again() {
  let mut bench = Bench::new(Setup { parallel: 2, context: 64, batch: 64, ..Setup::default() });
  let older = bench.submit(&prompt(1, 10), endless(50));
  let younger = bench.submit(&prompt(2, 10), endless(50));
  bench.drain();
  let needed = 10 + 10 + older.inbox.tokens() + younger.inbox.tokens() - 2;
  let again = bench.fake.with(|state| state.evaluated) - needed;
  assert!(again < 40, "{again} tokens were evaluated again");
}

#[test]
fn a_request_that_waits_for_its_consumer_gives_its_cells_and_gets_them_back() {
  let setup = Setup { parallel: 2, context: 64, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let slow = bench.submit(&prompt(1, 30), endless(20));
  bench.scheduler.step();
  bench.scheduler.step();
  slow.inbox.set_ready(false);
  let fast = bench.submit(&prompt(2, 40), endless(20));
  for _ in 0..PATIENCE {
    if bench.scheduler.step() == Activity::Blocked {
      break;
    }
  }
  assert_eq!(fast.inbox.outcome(), solo(setup, &prompt(2, 40), endless(20)));
  slow.inbox.set_ready(true);
  bench.drain();
  assert_eq!(slow.inbox.outcome(), solo(setup, &prompt(1, 30), endless(20)));
}

#[test]
fn prompt_tokens_that_lost_their_cells_before_they_were_used_do_not_count_as_cached() {
  let setup = Setup { parallel: 2, context: 60, ..Setup::default() };
  let mut bench = Bench::new(setup);
  bench.run(&prompt(1, 30), limit(1));
  let older = bench.submit(&prompt(2, 30), endless(30));
  bench.scheduler.step();
  let younger = bench.submit(&prompt(1, 30), endless(5));
  bench.drain();
  assert_eq!(older.inbox.outcome(), solo(setup, &prompt(2, 30), endless(30)));
  assert_eq!(younger.inbox.outcome(), solo(setup, &prompt(1, 30), endless(5)));
  assert_eq!(younger.inbox.finished().usage.cached_prompt_tokens, 0);
}

#[test]
fn a_request_that_has_begun_to_answer_keeps_its_cached_prompt_tokens_in_its_usage() {
  let setup = Setup { parallel: 2, context: 64, ..Setup::default() };
  let mut bench = Bench::new(setup);
  bench.run(&prompt(2, 20), limit(1));
  let (older, younger) =
    (bench.submit(&prompt(1, 20), endless(40)), bench.submit(&prompt(2, 20), endless(40)));
  bench.drain();
  assert!(older.inbox.ended() && bench.fake.with(|state| state.evaluated) > 20 + 20 + 39 + 1 + 39);
  assert_eq!(younger.inbox.finished().usage.cached_prompt_tokens, 19);
}

#[test]
fn kept_tokens_go_before_those_of_a_younger_request() {
  let mut bench = Bench::new(Setup { parallel: 3, context: 64, ..Setup::default() });
  bench.run(&prompt(3, 30), limit(1));
  bench.submit(&prompt(1, 10), endless(20));
  bench.submit(&prompt(2, 10), endless(20));
  bench.drain();
  assert_eq!(bench.fake.with(|state| state.evaluated), 30 + 2 * (10 + 19));
}

#[test]
fn a_request_that_waits_for_its_consumer_gives_its_cells_before_a_younger_one() {
  let mut bench = Bench::new(Setup { parallel: 3, context: 64, batch: 64, ..Setup::default() });
  let tickets: Vec<_> = (1..4).map(|salt| bench.submit(&prompt(salt, 10), endless(22))).collect();
  bench.scheduler.step();
  tickets[1].inbox.set_ready(false);
  while !tickets[0].inbox.ended() {
    bench.scheduler.step();
    assert_eq!(tickets[2].inbox.tokens(), tickets[0].inbox.tokens());
  }
  assert_eq!(bench.fake.with(|state| state.cells[1].len()), 0);
  assert_eq!(bench.fake.with(|state| state.evaluated), 10 + 2 * (10 + 21));
}

#[test]
fn of_kept_tokens_the_longest_unused_go_first() {
  let mut bench = Bench::new(Setup { parallel: 3, context: 64, ..Setup::default() });
  bench.run(&prompt(1, 20), limit(1));
  bench.run(&prompt(2, 20), limit(1));
  bench.run(&prompt(3, 30), limit(1));
  assert_eq!(bench.run(&prompt(2, 20), limit(1)).finished().usage.cached_prompt_tokens, 19);
}

#[test]
fn of_requests_that_wait_for_their_consumers_the_youngest_gives_its_cells_first() {
  let mut bench = Bench::new(Setup { parallel: 3, context: 64, batch: 64, ..Setup::default() });
  let slow = [bench.submit(&prompt(1, 15), endless(5)), bench.submit(&prompt(2, 15), endless(5))];
  bench.scheduler.step();
  for ticket in &slow {
    ticket.inbox.set_ready(false);
  }
  let fast = bench.submit(&prompt(3, 30), endless(10));
  while bench.scheduler.step() != Activity::Blocked {}
  assert!(fast.inbox.ended());
  assert_eq!(bench.fake.with(|state| [state.cells[0].len(), state.cells[1].len()]), [15, 0]);
}

#[test]
fn a_request_comes_back_only_where_it_can_stay_for_a_while() {
  let mut bench = Bench::new(Setup { parallel: 3, context: 64, batch: 64, ..Setup::default() });
  let requests = [(10, 20), (10, 40), (24, 30)];
  let tickets: Vec<_> = (1..)
    .zip(requests)
    .map(|(salt, (length, tokens))| bench.submit(&prompt(salt, length), endless(tokens)))
    .collect();
  bench.drain();
  let needed: usize = requests.iter().map(|&(length, tokens)| length + tokens as usize - 1).sum();
  let again = bench.fake.with(|state| state.evaluated) - needed;
  // The third is evaluated again once, after the second has ended.
  assert!((24..=34).contains(&again), "{again} tokens were evaluated again");
  assert!(tickets.iter().all(|ticket| ticket.inbox.ended()));
}
