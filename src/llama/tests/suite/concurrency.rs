//! Many requests in one context.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::support::reuse::{Subject, options, run, start, with_queue};
use crate::support::{collect, load, model_path, smollm2, tiny};
use local_inference_core::error::ErrorCode;
use local_inference_core::generate::{Event, FinishReason, Piece};
use local_inference_core::options::{ContextFull, ContextOptions, Lane, QueueOptions};
use local_inference_llama::running::RunningContext;

fn in_lane(tokens: u32, lane: Lane) -> local_inference_core::options::GenerateOptions {
  with_queue(tokens, QueueOptions { lane, ..QueueOptions::default() })
}

/// Waits for a piece of an answer.
fn first_piece(events: &Receiver<Event>) -> Piece {
  match events.recv_timeout(Duration::from_mins(2)) {
    Ok(Event::Piece(piece)) => piece,
    other => panic!("no piece: {other:?}"),
  }
}

#[test]
fn four_at_once_say_what_each_says_alone() {
  let all = [
    ("SmolLM2", Subject::real(&smollm2()), 40),
    ("tiny", Subject::real(&tiny()), 60),
    ("Gemma 4", Subject::synthetic(&model_path("synthetic-mtp/history.gguf")).trimmed(), 90),
    ("mamba", Subject::synthetic(&model_path("synthetic-recurrent/mamba.gguf")), 60),
    ("jamba", Subject::synthetic(&model_path("synthetic-recurrent/jamba.gguf")), 60),
  ];
  for (name, subject, length) in all {
    let context = subject.open(1024, 4, 0);
    let prompts: Vec<_> = (0..6).map(|seed| subject.prompt(seed, length + 7 * seed as usize)).collect();
    let running: Vec<_> = prompts.iter().map(|prompt| start(&context, prompt, options(16))).collect();
    let mut compared = 0;
    for (prompt, (events, _)) in prompts.iter().zip(&running) {
      compared += subject.assert_same(name, &subject.cold(prompt, 16), &collect(events).unwrap());
    }
    assert!(compared >= 6 * 8, "{name}: only {compared} tokens before near ties");
    context.close();
  }
}

#[test]
fn without_a_wish_four_sequences_share_the_context() {
  let model = load(&tiny());
  let options = ContextOptions { context_size: Some(512), threads: Some(1), ..ContextOptions::default() };
  let context = RunningContext::open(&model, &options).unwrap();
  let info = context.info();
  assert_eq!((info.parallel, info.context_size), (4, 512));
  assert!(info.prefix_cache > 0);
  context.close();
}

#[test]
fn a_background_request_goes_on_where_it_was_after_an_urgent_one() {
  for (name, subject) in [
    ("SmolLM2", Subject::real(&smollm2())),
    ("Gemma 4", Subject::synthetic(&model_path("synthetic-mtp/history.gguf")).trimmed()),
    ("jamba", Subject::synthetic(&model_path("synthetic-recurrent/jamba.gguf"))),
  ] {
    let context = subject.open(1024, 1, 64 << 20);
    let (long, urgent) = (subject.prompt(1, 50), subject.prompt(2, 20));
    let (background, _) = start(&context, &long, in_lane(40, Lane::Background));
    let first = first_piece(&background);
    let answer = run(&context, &urgent, in_lane(5, Lane::Interactive));
    subject.assert_same(name, &subject.cold(&urgent, 5), &answer);
    let mut whole = collect(&background).unwrap();
    whole.pieces.insert(0, first);
    subject.assert_same(name, &subject.cold(&long, 40), &whole);
    let metrics = context.metrics();
    assert_eq!((metrics.pauses, metrics.paused, metrics.running), (1, 0, 0), "{name}");
    context.close();
  }
}

#[test]
fn a_waiting_request_is_cancelled_while_the_thread_is_inside_a_long_prefill() {
  let subject = Subject::real(&smollm2());
  let context = subject.open(1024, 1, 0);
  let (running, stop) = start(&context, &subject.prompt(1, 500), options(4));
  let (waiting, cancel) = start(&context, &subject.prompt(2, 20), options(4));
  cancel.cancel();
  context.wake();
  let answer = collect(&waiting).unwrap();
  assert_eq!(answer.finished.reason, FinishReason::Cancelled);
  // The prefill of 500 tokens has not said a word yet: nobody waited for it.
  assert_eq!(running.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
  stop.cancel();
  context.wake();
  assert_eq!(collect(&running).unwrap().finished.reason, FinishReason::Cancelled);
  context.close();
}

#[test]
fn a_full_queue_and_a_long_wait_are_typed_errors() {
  let subject = Subject::real(&tiny());
  let limited = ContextOptions { queue_limit: 1, ..subject.options(1024, 1, 0) };
  let context = RunningContext::open(&subject.model, &limited).unwrap();
  let (running, stop) = start(&context, &subject.prompt(1, 20), options(900));
  first_piece(&running);
  let short = QueueOptions { timeout: Some(Duration::from_millis(1)), ..QueueOptions::default() };
  let (late, _) = start(&context, &subject.prompt(2, 20), with_queue(4, short));
  assert_eq!(collect(&late).unwrap_err().code(), ErrorCode::QueueTimeout);
  let (_waiting, _) = start(&context, &subject.prompt(3, 20), options(4));
  let (refused, _) = start(&context, &subject.prompt(4, 20), options(4));
  assert_eq!(collect(&refused).unwrap_err().code(), ErrorCode::QueueFull);
  stop.cancel();
  context.close();
}

#[test]
fn a_shift_goes_on_past_the_end_of_the_context_where_positions_can_be_moved() {
  let shift = QueueOptions { context_full: ContextFull::Shift { keep: 8 }, ..QueueOptions::default() };
  let subject = Subject::real(&tiny());
  let context = subject.open(256, 2, 0);
  let answer = run(&context, &subject.prompt(1, 100), with_queue(400, shift.clone()));
  assert_eq!((answer.finished.reason, answer.finished.usage.completion_tokens), (FinishReason::Length, 400));
  // Others are not disturbed by what it left.
  let next = run(&context, &subject.prompt(1, 100), options(8));
  subject.assert_same("after a shift", &subject.cold(&subject.prompt(1, 100), 8), &next);
  context.close();

  for name in
    ["synthetic-mtp/history.gguf", "synthetic-recurrent/mamba.gguf", "synthetic-recurrent/jamba.gguf"]
  {
    let subject = Subject::synthetic(&model_path(name));
    let context = subject.open(256, 1, 0);
    let (events, _) = start(&context, &subject.prompt(1, 100), with_queue(400, shift.clone()));
    assert_eq!(collect(&events).unwrap_err().code(), ErrorCode::Unsupported, "{name}");
    context.close();
  }
}

#[test]
fn as_an_error_a_full_context_says_the_numbers() {
  let subject = Subject::real(&tiny());
  let context = subject.open(256, 1, 0);
  let queue = QueueOptions { context_full: ContextFull::Error, ..QueueOptions::default() };
  let (events, _) = start(&context, &subject.prompt(1, 100), with_queue(400, queue));
  let error = collect(&events).unwrap_err();
  assert_eq!(error.code(), ErrorCode::ContextOverflow);
  assert!(error.to_string().contains("257 tokens") && error.to_string().contains("256"), "{error}");
  context.close();
}

#[test]
fn sequences_that_share_a_beginning_of_a_sliding_window_never_run_out_of_cells() {
  let subject = Subject::synthetic(&model_path("synthetic-mtp/history.gguf")).trimmed();
  // The cache of windows has 768 cells.
  let context = subject.open(4096, 4, 0);
  let common = subject.prompt(1, 700);
  let first = start(&context, &[&common[..], &subject.prompt(2, 10)].concat(), options(300));
  first_piece(&first.0);
  let others: Vec<_> = (3..6)
    .map(|seed| start(&context, &[&common[..], &subject.prompt(seed, 10)].concat(), options(300)))
    .collect();
  for (events, _) in [first].iter().chain(&others) {
    assert_eq!(collect(events).unwrap().finished.reason, FinishReason::Length);
  }
  context.close();
}
