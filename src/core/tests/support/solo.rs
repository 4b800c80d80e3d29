//! Running requests, and what each must give: a plain loop over the model, without scheduler, cache or text stages.

use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::Token;
use local_inference_core::durable::Stored;
use local_inference_core::generate::{FinishReason, Request};
use local_inference_core::history::History;
use local_inference_core::options::{GenerateOptions, Lane, QueueOptions};
use local_inference_core::schedule::{Activity, Arrival, Scheduler, Settings};

use super::fake::{Fake, Setup};
use super::model;
use super::sink::{Inbox, Outcome};

/// Steps after which a test gives up.
pub(crate) const PATIENCE: usize = 10_000;

/// A scheduler over a fake, and the fake.
pub(crate) struct Bench {
  pub(crate) fake: Fake,
  pub(crate) scheduler: Scheduler<Fake, Inbox>,
}

/// A submitted request.
#[derive(Clone)]
pub(crate) struct Ticket {
  pub(crate) inbox: Inbox,
  pub(crate) cancel: CancelToken,
}

impl Bench {
  pub(crate) fn new(setup: Setup) -> Self {
    let fake = Fake::new(setup);
    let settings = Settings {
      parallel: setup.parallel,
      cache_bytes: setup.cache,
      long_request: setup.long_request,
      queue_limit: setup.queue_limit,
      durable: setup.durable,
      speculation: setup.drafting.map(|drafting| drafting.limits),
      ..Settings::default()
    };
    Self { scheduler: Scheduler::new(fake.clone(), &settings), fake }
  }

  pub(crate) fn submit(&mut self, prompt: &[Token], options: GenerateOptions) -> Ticket {
    self.submit_stored(prompt, options, Stored::Nothing)
  }

  /// As [`submit`](Self::submit), with what was found of the conversation.
  pub(crate) fn submit_stored(
    &mut self,
    prompt: &[Token],
    options: GenerateOptions,
    stored: Stored,
  ) -> Ticket {
    let (ticket, arrival) = arrival(prompt, options);
    self.scheduler.submit(Arrival { stored, ..arrival });
    ticket
  }

  /// As [`submit`](Self::submit), of a prompt that may have media.
  pub(crate) fn submit_history(&mut self, prompt: &History, options: GenerateOptions) -> Ticket {
    let (ticket, arrival) = arrival_of(prompt.clone(), options);
    self.scheduler.submit(arrival);
    ticket
  }

  /// Steps until there is nothing to do.
  pub(crate) fn drain(&mut self) {
    for _ in 0..PATIENCE {
      match self.scheduler.step() {
        Activity::Worked => {}
        Activity::Idle => return,
        Activity::Blocked => panic!("every request waits for its consumer"),
      }
    }
    panic!("the scheduler never becomes idle");
  }

  /// Runs one request to its end.
  pub(crate) fn run(&mut self, prompt: &[Token], options: GenerateOptions) -> Inbox {
    let ticket = self.submit(prompt, options);
    self.drain();
    ticket.inbox
  }
}

/// A request that is not submitted yet.
pub(crate) fn arrival(prompt: &[Token], options: GenerateOptions) -> (Ticket, Arrival<Inbox>) {
  arrival_of(prompt.into(), options)
}

/// As [`arrival`], of a prompt that may have media.
pub(crate) fn arrival_of(prompt: History, options: GenerateOptions) -> (Ticket, Arrival<Inbox>) {
  let ticket = Ticket { inbox: Inbox::new(), cancel: CancelToken::new() };
  let request = Request { prompt, options, cancel: ticket.cancel.clone() };
  let arrival = Arrival::new(request, ticket.inbox.clone());
  (ticket, arrival)
}

/// What `prompt` gives on a scheduler of its own.
pub(crate) fn solo(setup: Setup, prompt: &[Token], options: GenerateOptions) -> Outcome {
  Bench::new(Setup { parallel: 1, cache: 0, durable: false, drafting: None, ..setup })
    .run(prompt, options)
    .outcome()
}

/// As [`solo`], of a prompt that may have media.
pub(crate) fn solo_of(setup: Setup, prompt: &History, options: GenerateOptions) -> Outcome {
  let mut bench = Bench::new(Setup { parallel: 1, cache: 0, durable: false, drafting: None, ..setup });
  let ticket = bench.submit_history(prompt, options);
  bench.drain();
  ticket.inbox.outcome()
}

/// Options with a limit, of a lane.
pub(crate) fn in_lane(lane: Lane, max_tokens: u32) -> GenerateOptions {
  let queue = QueueOptions { lane, ..QueueOptions::default() };
  GenerateOptions { ignore_eos: true, queue, ..limit(max_tokens) }
}

/// Options with a limit.
pub(crate) fn limit(max_tokens: u32) -> GenerateOptions {
  GenerateOptions { max_tokens: Some(max_tokens), ..GenerateOptions::default() }
}

/// A prompt of `length` tokens that differs with `salt` from its first token on.
pub(crate) fn prompt(salt: i32, length: usize) -> Vec<Token> {
  (0..length)
    .map(|index| 1 + (salt * 5 + i32::try_from(index).expect("a short prompt") * 7) % (model::VOCABULARY - 1))
    .collect()
}

/// The plainest generation with at most one stop: tokens one by one, the whole text searched after each.
pub(crate) fn reference(context: usize, prompt: &[Token], options: &GenerateOptions) -> Outcome {
  let seed = options.sampling.seed.unwrap_or(7);
  let min_tokens = options.min_tokens as usize;
  let mut history = prompt.to_vec();
  let (mut bytes, mut stoppable_from) = (Vec::new(), 0);
  loop {
    let tokens = history.len() - prompt.len() + 1;
    if tokens == min_tokens + 1 {
      stoppable_from = String::from_utf8_lossy(complete(&bytes)).len();
    }
    let full = history.len() >= context;
    let token = model::next(&history, seed, options.ignore_eos || tokens <= min_tokens);
    history.push(token);
    if token != model::END {
      bytes.extend_from_slice(model::piece(token));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let found = options.text.stops.first().filter(|_| tokens > min_tokens).and_then(|stop| {
      text[stoppable_from..]
        .find(stop.as_str())
        .map(|at| (stop.clone(), text[..stoppable_from + at].to_owned()))
    });
    let reasoning = String::new();
    if let Some((stop, text)) = found {
      return Outcome { text, reasoning, tokens, reason: FinishReason::Stop, stop: Some(stop) };
    }
    let reason = if token == model::END {
      FinishReason::Stop
    } else if options.max_tokens.is_some_and(|most| tokens >= most as usize) {
      FinishReason::Length
    } else if full {
      FinishReason::Context
    } else {
      continue;
    };
    return Outcome { text, reasoning, tokens, reason, stop: None };
  }
}

/// `bytes` without a character that is still to be completed.
fn complete(bytes: &[u8]) -> &[u8] {
  match std::str::from_utf8(bytes) {
    Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
    Err(_) => {
      let cut = (1..=3.min(bytes.len())).rev().find(|&back| {
        let tail = &bytes[bytes.len() - back..];
        std::str::from_utf8(tail).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
      });
      &bytes[..bytes.len() - cut.unwrap_or(0)]
    }
    Ok(_) => bytes,
  }
}
