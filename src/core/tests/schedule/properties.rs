//! Laws that hold whatever requests, cancels and pauses come in whatever order.

use std::collections::HashMap;
use std::time::Duration;

use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::Token;
use local_inference_core::durable::{Saved, Stored};
use local_inference_core::error::ErrorCode;
use local_inference_core::generate::FinishReason;
use local_inference_core::options::{ContextFull, GenerateOptions, Lane, QueueOptions, SamplingOptions};
use local_inference_core::speculate::Limits;
use local_inference_core::text::TextOptions;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::fake::{Drafting, Memory, Setup};
use crate::support::sink::Outcome;
use crate::support::solo::{Bench, Ticket, prompt, reference, solo};

#[derive(Debug, Clone)]
enum Action {
  Submit(Vec<Token>, Box<GenerateOptions>),
  /// Of the request with this number, modulo how many there are.
  Cancel(usize),
  /// After so many more micro-batches.
  CancelWithin(usize, usize),
  Toggle(usize),
  Steps(usize),
}

fn setup() -> impl Strategy<Value = Setup> {
  let memory = prop_oneof![
    3 => Just(Memory::Full),
    1 => (0_usize..12).prop_map(Memory::Window),
    1 => Just(Memory::Recurrent)
  ];
  let cache = prop_oneof![Just(0), 100_usize..600, Just(1 << 16)];
  let limits = (1_usize..4, 0_usize..4, any::<bool>()).prop_map(|(min, more, adaptive)| Limits {
    min,
    max: min + more,
    adaptive,
  });
  let drafting = proptest::option::of((0_usize..6, limits))
    .prop_map(|it| it.map(|(wrong_every, limits)| Drafting { wrong_every, limits }));
  let store = (cache, prop_oneof![1_usize..40, Just(256)]);
  (1_u32..5, 16_usize..90, 1_usize..12, 1_usize..5, memory, store, 1_usize..12, any::<bool>(), drafting)
    .prop_map(|(parallel, context, batch, micro_batch, memory, store, queue_limit, durable, drafting)| {
      let (cache, long_request) = store;
      Setup {
        parallel,
        context,
        batch,
        micro_batch,
        memory,
        cache,
        long_request,
        queue_limit,
        durable,
        drafting,
      }
    })
}

fn queue() -> impl Strategy<Value = QueueOptions> {
  let lane = prop_oneof![Just(Lane::Interactive), Just(Lane::Normal), Just(Lane::Background)];
  let context_full = prop_oneof![
    6 => Just(ContextFull::Stop),
    1 => Just(ContextFull::Error),
    1 => (0_u32..20).prop_map(|keep| ContextFull::Shift { keep }),
  ];
  let timeout =
    proptest::option::weighted(0.1, prop_oneof![Just(Duration::ZERO), Just(Duration::from_hours(1))]);
  let conversation = proptest::option::weighted(0.3, prop_oneof![Just("a"), Just("b")]);
  (lane, context_full, timeout, conversation, proptest::bool::weighted(0.1)).prop_map(
    |(lane, context_full, timeout, conversation, prewarm)| QueueOptions {
      lane,
      timeout,
      conversation: conversation.map(str::to_owned),
      context_full,
      prewarm,
    },
  )
}

/// Prompts that share beginnings of every length.
fn prompts() -> impl Strategy<Value = Vec<Token>> {
  (0_i32..3, 1_usize..30, 0_i32..3, 0_usize..10)
    .prop_map(|(salt, length, other, more)| [prompt(salt, length), prompt(other, more)].concat())
}

fn options() -> impl Strategy<Value = GenerateOptions> {
  let stop = proptest::option::weighted(0.3, prop_oneof![Just("STOP"), Just("b"), Just("a "), Just("é")]);
  (proptest::option::weighted(0.8, 1_u32..30), 0_u32..4, any::<bool>(), 0_u32..3, stop, queue()).prop_map(
    |(max_tokens, min_tokens, ignore_eos, seed, stop, queue)| GenerateOptions {
      // A shift without a limit might never end.
      max_tokens: max_tokens.or(matches!(queue.context_full, ContextFull::Shift { .. }).then_some(120)),
      queue,
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
    8 => (1_usize..6).prop_map(Action::Steps),
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
  let mut files: HashMap<String, Saved> = HashMap::new();
  for action in actions {
    for save in bench.scheduler.take_saves() {
      files.insert(save.conversation.to_string(), save.saved);
    }
    match action {
      Action::Submit(prompt, options) => {
        let file = options.queue.conversation.as_ref().and_then(|name| files.get(name));
        let stored = file.cloned().map_or(Stored::Nothing, Stored::Found);
        let ticket = bench.submit_stored(&prompt, (*options).clone(), stored);
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
      Action::Steps(times) => {
        for _ in 0..times {
          bench.scheduler.step();
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

/// The same request where nothing else is going on.
fn alone(setup: Setup, request: &Submitted) -> Outcome {
  solo(setup, &request.prompt, plain(&request.options))
}

/// The options that decide what is said.
fn plain(options: &GenerateOptions) -> GenerateOptions {
  let queue = QueueOptions { context_full: options.queue.context_full, ..QueueOptions::default() };
  GenerateOptions { queue, ..options.clone() }
}

/// A request that was interrupted has said a beginning of what it would have said.
fn check_beginning(setup: Setup, request: &Submitted) {
  let context_full = match request.options.queue.context_full {
    ContextFull::Error => ContextFull::Stop,
    other => other,
  };
  let queue = QueueOptions { context_full, ..QueueOptions::default() };
  let unstopped = GenerateOptions { text: TextOptions::default(), queue, ..request.options.clone() };
  let whole = solo(setup, &request.prompt, unstopped);
  let (text, tokens) = (request.ticket.inbox.text(), request.ticket.inbox.tokens());
  assert!(whole.text.starts_with(text.trim_end_matches('\u{fffd}')), "{text:?} is no beginning of {whole:?}");
  assert!(tokens <= whole.tokens);
}

/// Whether a failure is one that this request may have.
fn check_failure(setup: Setup, request: &Submitted) {
  let Submitted { prompt, options, ticket } = request;
  let (code, message) = ticket.inbox.failure();
  let expected = match code {
    ErrorCode::QueueFull => true,
    ErrorCode::QueueTimeout => options.queue.timeout == Some(Duration::ZERO),
    ErrorCode::ContextOverflow if prompt.len() >= setup.context => true,
    ErrorCode::ContextOverflow => {
      check_beginning(setup, request);
      options.queue.context_full == ContextFull::Error
        && message.contains(&format!("{} tokens", setup.context + 1))
    }
    ErrorCode::Unsupported => {
      let shift =
        matches!(options.queue.context_full, ContextFull::Shift { .. }) && setup.memory != Memory::Full;
      shift || (options.queue.prewarm && setup.cache == 0)
    }
    _ => false,
  };
  assert!(expected, "{code}: {message}");
}

fn check(setup: Setup, request: &Submitted) {
  let Submitted { prompt, options, ticket } = request;
  assert_eq!(ticket.inbox.endings(), 1);
  if ticket.inbox.failed() {
    return check_failure(setup, request);
  }
  let finished = ticket.inbox.finished();
  assert_eq!(finished.usage.prompt_tokens, prompt.len());
  assert!(finished.usage.cached_prompt_tokens < prompt.len() + usize::from(options.queue.prewarm));
  if finished.reason == FinishReason::Cancelled {
    assert!(ticket.cancel.is_cancelled() && finished.stop.is_none());
    check_beginning(setup, request);
  } else if options.queue.prewarm {
    assert_eq!((finished.reason, ticket.inbox.tokens()), (FinishReason::Length, 0));
  } else {
    let outcome = ticket.inbox.outcome();
    assert_eq!(outcome, alone(setup, request));
    if options.queue.context_full == ContextFull::Stop {
      assert_eq!(outcome, reference(setup.context, prompt, options));
    }
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
    let runs = |request: &&Submitted| request.prompt.len() < setup.context && request.options.queue.context_full == ContextFull::Stop;
    if let Some(last) = requests.iter().rev().find(runs) {
      let again = bench.run(&last.prompt, plain(&last.options));
      assert_eq!(again.outcome(), alone(setup, last));
    }
  }
}
