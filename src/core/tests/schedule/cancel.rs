//! Cancelling at every moment of a request's life.

use local_inference_core::generate::FinishReason;
use local_inference_core::options::GenerateOptions;
use local_inference_core::schedule::Activity;
use local_inference_core::text::TextOptions;

use crate::support::fake::{Memory, Setup};
use crate::support::model::token;
use crate::support::solo::{Bench, Ticket, limit, prompt, solo};

fn is_cancelled(ticket: &Ticket) -> bool {
  assert_eq!(ticket.inbox.endings(), 1);
  ticket.inbox.finished().reason == FinishReason::Cancelled
}

#[test]
fn a_request_cancelled_before_it_was_submitted_decodes_nothing() {
  let mut bench = Bench::new(Setup::default());
  let ticket = bench.submit(&prompt(1, 9), limit(9));
  ticket.cancel.cancel();
  assert_eq!(bench.scheduler.step(), Activity::Worked);
  assert!(is_cancelled(&ticket));
  assert_eq!(bench.scheduler.step(), Activity::Idle);
  assert_eq!(bench.fake.with(|state| state.batches.len()), 0);
}

#[test]
fn a_cancel_interrupts_a_prefill_within_one_micro_batch() {
  let mut bench = Bench::new(Setup { batch: 64, micro_batch: 4, ..Setup::default() });
  let ticket = bench.submit(&prompt(1, 60), limit(9));
  bench.fake.with(|state| state.cancels.push((3, ticket.cancel.clone())));
  bench.drain();
  assert!(is_cancelled(&ticket));
  assert_eq!(bench.fake.with(|state| state.evaluated), 8);
  assert_eq!(ticket.inbox.finished().usage.completion_tokens, 0);
}

#[test]
fn what_an_interrupted_prefill_evaluated_is_reused() {
  let setup = Setup { batch: 64, micro_batch: 4, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let ticket = bench.submit(&prompt(1, 60), limit(9));
  bench.fake.with(|state| state.cancels.push((5, ticket.cancel.clone())));
  bench.drain();
  let inbox = bench.run(&prompt(1, 60), limit(9));
  assert_eq!(inbox.finished().usage.cached_prompt_tokens, 16);
  assert_eq!(inbox.outcome(), solo(setup, &prompt(1, 60), limit(9)));
}

#[test]
fn a_cancel_between_tokens_ends_with_the_text_so_far() {
  let setup = Setup::default();
  let options = GenerateOptions { ignore_eos: true, ..limit(50) };
  let whole = solo(setup, &prompt(1, 9), options.clone());
  let mut bench = Bench::new(setup);
  let ticket = bench.submit(&prompt(1, 9), options);
  for _ in 0..12 {
    bench.scheduler.step();
  }
  ticket.cancel.cancel();
  bench.drain();
  assert!(is_cancelled(&ticket));
  assert_eq!(ticket.inbox.outcome().tokens, 12);
  assert!(whole.text.starts_with(ticket.inbox.text().trim_end_matches('\u{fffd}')));
}

#[test]
fn a_cancel_after_the_end_changes_nothing() {
  let mut bench = Bench::new(Setup::default());
  let ticket = bench.submit(&prompt(1, 9), limit(1));
  bench.drain();
  let events = ticket.inbox.events();
  ticket.cancel.cancel();
  assert_eq!(bench.scheduler.step(), Activity::Idle);
  assert_eq!(ticket.inbox.events(), events);
}

#[test]
fn a_cancelled_request_reports_no_stop_string() {
  let mut bench = Bench::new(Setup::default());
  bench.fake.script(&[1], &[token("a"), token("\n"), token("b")]);
  let stops = vec!["\n".to_owned(), "\n\n".to_owned()];
  let options = GenerateOptions { text: TextOptions { stops, reasoning: None }, ..limit(9) };
  let ticket = bench.submit(&[1], options);
  bench.scheduler.step();
  bench.scheduler.step();
  ticket.cancel.cancel();
  bench.drain();
  assert!(is_cancelled(&ticket));
  assert_eq!((ticket.inbox.text().as_str(), ticket.inbox.finished().stop), ("a", None));
}

#[test]
fn cancelling_a_waiting_request_keeps_the_others_in_order() {
  let mut bench = Bench::new(Setup::default());
  let tickets: Vec<_> = (1..5).map(|salt| bench.submit(&prompt(salt, 5), limit(3))).collect();
  tickets[1].cancel.cancel();
  bench.scheduler.step();
  assert!(is_cancelled(&tickets[1]));
  bench.drain();
  for (salt, ticket) in [(1, &tickets[0]), (3, &tickets[2]), (4, &tickets[3])] {
    assert_eq!(ticket.inbox.outcome(), solo(Setup::default(), &prompt(salt, 5), limit(3)));
  }
}

/// Cancels one request at micro-batch `at` beside others; returns how many micro-batches there were in all.
fn cancel_beside_others(setup: Setup, at: usize) -> usize {
  let mut bench = Bench::new(setup);
  let options = GenerateOptions { ignore_eos: true, ..limit(12) };
  let prompts: Vec<_> = (1..)
    .zip((9..).step_by(5))
    .map(|(salt, length)| prompt(salt, length))
    .take(setup.parallel as usize)
    .collect();
  let tickets: Vec<_> = prompts.iter().map(|prompt| bench.submit(prompt, options.clone())).collect();
  let cancelled = tickets.len() / 2;
  bench.fake.with(|state| state.cancels.push((at, tickets[cancelled].cancel.clone())));
  bench.drain();
  for (index, (ticket, prompt)) in tickets.iter().zip(&prompts).enumerate() {
    assert_eq!(ticket.inbox.endings(), 1);
    if index != cancelled {
      assert_eq!(
        ticket.inbox.outcome(),
        solo(setup, prompt, options.clone()),
        "request {index}, cancel at {at}"
      );
    }
  }
  bench.fake.with(|state| state.polls)
}

#[test]
fn an_interrupt_at_any_micro_batch_does_not_disturb_the_other_requests() {
  for memory in [Memory::Full, Memory::Window(3), Memory::Recurrent] {
    for parallel in [2, 4] {
      for micro_batch in [1, 2, 3] {
        let setup = Setup { parallel, batch: 8, micro_batch, memory, ..Setup::default() };
        let polls = cancel_beside_others(setup, usize::MAX);
        assert!(polls > 12);
        for at in 1..=polls {
          cancel_beside_others(setup, at);
        }
      }
    }
  }
}

#[test]
fn a_prefill_beside_a_stream_is_interrupted_within_one_micro_batch() {
  let mut bench = Bench::new(Setup { parallel: 2, batch: 64, micro_batch: 4, ..Setup::default() });
  let options = GenerateOptions { ignore_eos: true, ..limit(12) };
  bench.submit(&prompt(1, 4), options.clone());
  bench.scheduler.step();
  let ticket = bench.submit(&prompt(2, 60), options);
  bench.fake.with(|state| state.cancels.push((state.polls + 3, ticket.cancel.clone())));
  bench.scheduler.step();
  bench.scheduler.step();
  assert!(is_cancelled(&ticket));
  // The stream's token came with the first micro-batch and once more after the interrupt.
  assert_eq!(bench.fake.with(|state| state.evaluated), 4 + 8 + 1);
}

#[test]
fn several_requests_cancelled_in_the_same_batch_end_once_each() {
  let setup = Setup { parallel: 4, batch: 8, micro_batch: 2, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let options = GenerateOptions { ignore_eos: true, ..limit(12) };
  let tickets: Vec<_> = (1..=4).map(|salt| bench.submit(&prompt(salt, 4), options.clone())).collect();
  for ticket in &tickets[..3] {
    bench.fake.with(|state| state.cancels.push((10, ticket.cancel.clone())));
  }
  bench.drain();
  assert!(tickets[..3].iter().all(is_cancelled));
  assert_eq!(tickets[3].inbox.outcome(), solo(setup, &prompt(4, 4), options));
}

#[test]
fn fail_all_ends_everything_once() {
  let mut bench = Bench::new(Setup { parallel: 2, ..Setup::default() });
  let tickets: Vec<_> = (1..6).map(|salt| bench.submit(&prompt(salt, 5), limit(30))).collect();
  bench.scheduler.step();
  bench.scheduler.fail_all(&local_inference_core::schedule::closed());
  bench.scheduler.fail_all(&local_inference_core::schedule::closed());
  for ticket in &tickets {
    ticket.cancel.cancel();
  }
  assert_eq!((bench.scheduler.load(), bench.scheduler.step()), (0, Activity::Idle));
  for ticket in tickets {
    assert_eq!((ticket.inbox.endings(), ticket.inbox.failure().0.as_str()), (1, "CLOSED"));
  }
}
