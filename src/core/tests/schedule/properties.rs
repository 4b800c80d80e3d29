//! Laws that hold whatever requests, cancels and pauses come in whatever order.

use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::Token;
use local_inference_core::generate::FinishReason;
use local_inference_core::options::{GenerateOptions, SamplingOptions};
use local_inference_core::text::TextOptions;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::fake::{Memory, Setup};
use crate::support::solo::{Bench, Ticket, prompt, reference, solo};

#[derive(Debug, Clone)]
enum Action {
  Submit(Vec<Token>, Box<GenerateOptions>),
  /// Of the request with this number, modulo how many there are.
  Cancel(usize),
  /// After so many more micro-batches.
  CancelWithin(usize, usize),
  Toggle(usize),
  Tick(usize),
}

fn setup() -> impl Strategy<Value = Setup> {
  let memory = prop_oneof![
    3 => Just(Memory::Full),
    1 => (0_usize..12).prop_map(Memory::Window),
    1 => Just(Memory::Recurrent)
  ];
  (1_u32..5, 16_usize..90, 1_usize..12, 1_usize..5, memory).prop_map(
    |(parallel, context, batch, micro_batch, memory)| Setup { parallel, context, batch, micro_batch, memory },
  )
}

/// Prompts that share beginnings of every length.
fn prompts() -> impl Strategy<Value = Vec<Token>> {
  (0_i32..3, 1_usize..30, 0_i32..3, 0_usize..10)
    .prop_map(|(salt, length, other, more)| [prompt(salt, length), prompt(other, more)].concat())
}

fn options() -> impl Strategy<Value = GenerateOptions> {
  let stop = proptest::option::weighted(0.3, prop_oneof![Just("STOP"), Just("b"), Just("a "), Just("é")]);
  (proptest::option::weighted(0.8, 1_u32..30), 0_u32..4, any::<bool>(), 0_u32..3, stop).prop_map(
    |(max_tokens, min_tokens, ignore_eos, seed, stop)| GenerateOptions {
      max_tokens,
      min_tokens: min_tokens.min(max_tokens.unwrap_or(u32::MAX)),
      ignore_eos,
      sampling: SamplingOptions { seed: Some(seed), ..SamplingOptions::default() },
      text: TextOptions { stops: stop.into_iter().map(str::to_owned).collect(), reasoning: None },
      ..GenerateOptions::default()
    },
  )
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
  let action = prop_oneof![
    4 => (prompts(), options()).prop_map(|(prompt, options)| Action::Submit(prompt, Box::new(options))),
    1 => any::<usize>().prop_map(Action::Cancel),
    1 => (any::<usize>(), 1_usize..8).prop_map(|(request, within)| Action::CancelWithin(request, within)),
    2 => any::<usize>().prop_map(Action::Toggle),
    8 => (1_usize..6).prop_map(Action::Tick),
  ];
  vec(action, 1..60)
}

struct Submitted {
  prompt: Vec<Token>,
  options: GenerateOptions,
  ticket: Ticket,
}

/// Does everything, then lets the scheduler run out.
fn play(bench: &mut Bench, actions: Vec<Action>) -> Vec<Submitted> {
  let mut requests: Vec<Submitted> = Vec::new();
  let pick = |requests: &[Submitted], number: usize| -> Option<(Ticket, CancelToken)> {
    let ticket = requests.get(number % requests.len().max(1))?.ticket.clone();
    Some((ticket.clone(), ticket.cancel))
  };
  for action in actions {
    match action {
      Action::Submit(prompt, options) => {
        let ticket = bench.submit(&prompt, (*options).clone());
        requests.push(Submitted { prompt, options: *options, ticket });
      }
      Action::Cancel(number) => {
        if let Some((_, cancel)) = pick(&requests, number) {
          cancel.cancel();
        }
      }
      Action::CancelWithin(number, within) => {
        if let Some((_, cancel)) = pick(&requests, number) {
          bench.fake.with(|state| state.cancels.push((state.polls + within, cancel)));
        }
      }
      Action::Toggle(number) => {
        if let Some((ticket, _)) = pick(&requests, number) {
          ticket.inbox.set_ready(!ticket.inbox.is_ready());
        }
      }
      Action::Tick(times) => {
        for _ in 0..times {
          bench.scheduler.tick();
        }
      }
    }
  }
  for request in &requests {
    request.ticket.inbox.set_ready(true);
  }
  bench.drain();
  requests
}

/// A cancelled request has said a beginning of what it would have said.
fn check_cancelled(setup: Setup, request: &Submitted) {
  let unstopped = GenerateOptions { text: TextOptions::default(), ..request.options.clone() };
  let whole = solo(setup, &request.prompt, unstopped);
  let said = request.ticket.inbox.outcome();
  assert!(
    whole.text.starts_with(said.text.trim_end_matches('\u{fffd}')),
    "{said:?} is no beginning of {whole:?}"
  );
  assert!(said.tokens <= whole.tokens && said.stop.is_none());
}

fn check(setup: Setup, request: &Submitted) {
  let Submitted { prompt, options, ticket } = request;
  assert_eq!(ticket.inbox.endings(), 1);
  if prompt.len() >= setup.context {
    ticket.inbox.failure();
    return;
  }
  let finished = ticket.inbox.finished();
  assert_eq!(finished.usage.prompt_tokens, prompt.len());
  assert!(finished.usage.cached_prompt_tokens < prompt.len());
  if finished.reason == FinishReason::Cancelled {
    assert!(ticket.cancel.is_cancelled());
    check_cancelled(setup, request);
  } else {
    let outcome = ticket.inbox.outcome();
    assert_eq!(outcome, solo(setup, prompt, options.clone()));
    assert_eq!(outcome, reference(setup.context, prompt, options));
  }
}

proptest! {
  #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

  /// Every request ends exactly once, with what it gives alone; nothing is left over or stuck.
  #[test]
  fn every_request_ends_once_with_what_it_gives_alone(setup in setup(), actions in actions()) {
    let mut bench = Bench::new(setup);
    let requests = play(&mut bench, actions);
    assert_eq!(bench.scheduler.load(), 0);
    for request in &requests {
      check(setup, request);
    }
    // What the scheduler believes to be cached is what is cached: the last prompt would show otherwise.
    if let Some(last) = requests.iter().rev().find(|request| request.prompt.len() < setup.context) {
      let again = bench.run(&last.prompt, last.options.clone());
      assert_eq!(again.outcome(), solo(setup, &last.prompt, last.options.clone()));
    }
  }
}
