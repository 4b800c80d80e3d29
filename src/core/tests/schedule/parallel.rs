//! Several requests at once.

use local_inference_core::options::GenerateOptions;
use local_inference_core::schedule::Activity;

use crate::support::fake::Setup;
use crate::support::solo::{Bench, limit, prompt, solo};

#[test]
fn one_sequence_runs_requests_in_the_order_they_came() {
  let mut bench = Bench::new(Setup::default());
  let tickets: Vec<_> = (1..6).map(|salt| bench.submit(&prompt(salt, 5), limit(4))).collect();
  let mut order = Vec::new();
  while bench.scheduler.step() != Activity::Idle {
    for (index, ticket) in tickets.iter().enumerate() {
      if ticket.inbox.ended() && !order.contains(&index) {
        order.push(index);
      }
      assert!(ticket.inbox.events().is_empty() || order.len() >= index, "request {index} overtook");
    }
  }
  assert_eq!(order, [0, 1, 2, 3, 4]);
}

#[test]
fn requests_side_by_side_give_what_each_gives_alone() {
  for parallel in [1, 2, 4, 8] {
    for batch in [1, 3, 16] {
      let setup = Setup { parallel, batch, context: 1024, ..Setup::default() };
      let mut bench = Bench::new(setup);
      let prompts: Vec<_> =
        (1..=10).zip((7..).step_by(4)).map(|(salt, length)| prompt(salt % 7, length)).collect();
      let tickets: Vec<_> = prompts.iter().map(|prompt| bench.submit(prompt, limit(30))).collect();
      bench.drain();
      for (ticket, prompt) in tickets.iter().zip(&prompts) {
        assert_eq!(
          ticket.inbox.outcome(),
          solo(setup, prompt, limit(30)),
          "{parallel} at once, batches of {batch}"
        );
      }
    }
  }
}

#[test]
fn load_counts_the_requests_that_have_not_ended() {
  let mut bench = Bench::new(Setup { parallel: 2, ..Setup::default() });
  let options = GenerateOptions { ignore_eos: true, ..limit(2) };
  for salt in 1..4 {
    bench.submit(&prompt(salt, 2), options.clone());
  }
  let mut loads = vec![bench.scheduler.load()];
  while bench.scheduler.step() != Activity::Idle {
    loads.push(bench.scheduler.load());
  }
  assert_eq!(loads, [3, 3, 1, 1, 0]);
}

#[test]
fn a_request_that_comes_later_starts_in_the_free_sequence_at_once() {
  let setup = Setup { parallel: 2, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let options = GenerateOptions { ignore_eos: true, ..limit(30) };
  let first = bench.submit(&prompt(1, 5), options.clone());
  for _ in 0..5 {
    bench.scheduler.step();
  }
  let second = bench.submit(&prompt(2, 3), options.clone());
  bench.scheduler.step();
  assert_eq!((first.inbox.tokens(), second.inbox.tokens()), (6, 1));
  bench.drain();
  assert_eq!(second.inbox.outcome(), solo(setup, &prompt(2, 3), options));
}
