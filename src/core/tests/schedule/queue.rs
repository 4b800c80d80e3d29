//! Requests that wait: limits, timeouts, cancels, arrivals during a decode.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use local_inference_core::error::ErrorCode;
use local_inference_core::generate::FinishReason;
use local_inference_core::options::{GenerateOptions, Lane, QueueOptions};
use local_inference_core::schedule::Activity;

use crate::support::fake::Setup;
use crate::support::solo::{Bench, arrival, in_lane, limit, prompt, solo};

fn patient_for(timeout: Duration) -> GenerateOptions {
  GenerateOptions { queue: QueueOptions { timeout: Some(timeout), ..QueueOptions::default() }, ..limit(9) }
}

#[test]
fn a_full_lane_refuses_further_requests_and_says_the_numbers() {
  let mut bench = Bench::new(Setup { queue_limit: 2, ..Setup::default() });
  let tickets: Vec<_> =
    (1..5).map(|salt| bench.submit(&prompt(salt, 3), in_lane(Lane::Background, 4))).collect();
  for refused in &tickets[2..] {
    let (code, message) = refused.inbox.failure();
    assert_eq!(code, ErrorCode::QueueFull);
    assert!(message.contains("2 background requests wait") && message.contains("and 2 may"), "{message}");
  }
  // Another lane has its own places.
  let urgent = bench.submit(&prompt(5, 3), in_lane(Lane::Interactive, 4));
  bench.drain();
  assert!(urgent.inbox.ended() && tickets[1].inbox.finished().usage.completion_tokens == 4);
  assert_eq!(bench.scheduler.metrics().refused, 2);
}

#[test]
fn a_request_that_waited_too_long_fails_with_its_wait() {
  let mut bench = Bench::new(Setup::default());
  let running = bench.submit(&prompt(1, 3), patient_for(Duration::ZERO));
  let waiting = bench.submit(&prompt(2, 3), patient_for(Duration::from_hours(1)));
  assert!(bench.scheduler.deadline().is_some());
  bench.scheduler.step();
  let (code, message) = running.inbox.failure();
  assert_eq!(code, ErrorCode::QueueTimeout);
  assert!(message.contains("(normal) waited"), "{message}");
  bench.drain();
  assert_eq!(waiting.inbox.outcome(), solo(Setup::default(), &prompt(2, 3), limit(9)));
  assert_eq!((bench.scheduler.metrics().timed_out, bench.scheduler.deadline()), (1, None));
}

#[test]
fn a_started_request_has_no_deadline() {
  let mut bench = Bench::new(Setup::default());
  let running = bench.submit(&prompt(1, 40), patient_for(Duration::from_millis(1)));
  bench.scheduler.step();
  std::thread::sleep(Duration::from_millis(2));
  bench.drain();
  // It started within the millisecond, or it says that it did not.
  assert!(running.inbox.endings() == 1);
}

#[test]
fn a_waiting_request_that_is_cancelled_during_a_decode_ends_before_the_decode_does() {
  let mut bench = Bench::new(Setup { batch: 64, micro_batch: 4, ..Setup::default() });
  let running = bench.submit(&prompt(1, 60), limit(3));
  let waiting = bench.submit(&prompt(2, 5), limit(3));
  let seen = Rc::new(Cell::new(false));
  bench.fake.with(|state| {
    state.cancels.push((3, waiting.cancel.clone()));
    let (inbox, seen) = (waiting.inbox.clone(), Rc::clone(&seen));
    state.hooks.push((4, Box::new(move || seen.set(inbox.ended()))));
  });
  bench.scheduler.step();
  assert!(seen.get(), "it ended only after the decode");
  assert_eq!(waiting.inbox.finished().reason, FinishReason::Cancelled);
  // The running prefill was not disturbed.
  assert_eq!((bench.fake.with(|state| state.evaluated), running.inbox.tokens()), (60, 1));
}

#[test]
fn requests_that_come_during_a_decode_are_taken_then() {
  let mut bench = Bench::new(Setup { batch: 64, micro_batch: 4, queue_limit: 1, ..Setup::default() });
  bench.submit(&prompt(1, 60), limit(3));
  let (ticket, late) = arrival(&prompt(2, 5), limit(3));
  let (refused, second) = arrival(&prompt(3, 5), limit(3));
  let mut coming = vec![second, late];
  let mut asked = 0;
  bench.scheduler.step_with(&mut || {
    asked += 1;
    if asked > 5 { coming.pop() } else { None }
  });
  assert_eq!(refused.inbox.failure().0, ErrorCode::QueueFull);
  assert_eq!(bench.scheduler.metrics().waiting, [0, 1, 0]);
  bench.drain();
  assert_eq!(ticket.inbox.outcome(), solo(Setup::default(), &prompt(2, 5), limit(3)));
}

#[test]
fn a_request_waits_until_its_prompt_has_room() {
  let setup = Setup { parallel: 2, context: 64, ..Setup::default() };
  let mut bench = Bench::new(setup);
  let options = in_lane(Lane::Normal, 10);
  let first = bench.submit(&prompt(1, 40), options.clone());
  bench.scheduler.step();
  let second = bench.submit(&prompt(2, 40), options.clone());
  let third = bench.submit(&prompt(3, 2), options.clone());
  bench.scheduler.step();
  // First come, first served: the small one does not slip past.
  assert_eq!(bench.scheduler.metrics().waiting, [0, 2, 0]);
  bench.drain();
  for (ticket, salt, length) in [(first, 1, 40), (second, 2, 40), (third, 3, 2)] {
    assert_eq!(ticket.inbox.outcome(), solo(setup, &prompt(salt, length), options.clone()));
  }
}

#[test]
fn metrics_tell_what_runs_and_waits() {
  let mut bench = Bench::new(Setup { parallel: 2, ..Setup::default() });
  for (salt, lane) in (1..).zip([Lane::Normal, Lane::Normal, Lane::Normal, Lane::Background]) {
    bench.submit(&prompt(salt, 4), in_lane(lane, 5));
  }
  assert_eq!(bench.scheduler.metrics().waiting, [0, 3, 1]);
  bench.scheduler.step();
  let now = bench.scheduler.metrics();
  assert_eq!((now.running, now.waiting, now.started, now.context_size), (2, [0, 1, 1], 2, 256));
  assert_eq!((now.context_used, now.completion_tokens), (8, 2));
  while bench.scheduler.step() != Activity::Idle {}
  let end = bench.scheduler.metrics();
  assert_eq!((end.running, end.started, end.prompt_tokens, end.completion_tokens), (0, 4, 16, 20));
}
