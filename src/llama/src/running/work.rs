//! The context's thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Instant;

use local_inference_core::generate::{Event, Sink};
use local_inference_core::schedule::{Activity, Arrival, Scheduler, closed};

use crate::context::Context;
use crate::state::StateStore;
use crate::threads::Active;

/// Where a request's events go, from the context's thread.
pub(super) struct BoxedSink(pub(super) Box<dyn Sink + Send>);

impl Sink for BoxedSink {
  fn ready(&self) -> bool {
    self.0.ready()
  }

  fn send(&mut self, event: Event) {
    self.0.send(event);
  }
}

pub(super) enum Command {
  Submit(Box<Arrival<BoxedSink>>),
  /// A consumer has read, or a request was cancelled.
  Wake,
  Close,
}

/// Steps while there is something to do, sleeps otherwise. Commands are taken throughout, also while a decode runs.
pub(super) fn run(
  mut scheduler: Scheduler<Context, BoxedSink>,
  commands: &Receiver<Command>,
  state: Option<&Arc<StateStore>>,
) {
  let mut closing = false;
  let mut active = None;
  while !closing {
    let mut arrivals = || loop {
      match commands.try_recv() {
        Ok(Command::Submit(arrival)) => return Some(*arrival),
        Ok(Command::Wake) => {}
        Ok(Command::Close) | Err(TryRecvError::Disconnected) => {
          closing = true;
          return None;
        }
        Err(TryRecvError::Empty) => return None,
      }
    };
    let activity = scheduler.step_with(&mut arrivals);
    if let Some(state) = state {
      state.forgotten(&scheduler.take_lost());
      state.store(scheduler.take_saves());
    }
    if activity == Activity::Worked || closing {
      active.get_or_insert_with(Active::begin);
      continue;
    }
    active = None;
    match sleep(commands, scheduler.deadline()) {
      Ok(Command::Submit(arrival)) => scheduler.submit(*arrival),
      Ok(Command::Wake) | Err(RecvTimeoutError::Timeout) => {}
      Ok(Command::Close) | Err(RecvTimeoutError::Disconnected) => closing = true,
    }
  }
  scheduler.fail_all(&closed());
  while let Ok(command) = commands.try_recv() {
    if let Command::Submit(mut arrival) = command {
      arrival.sink.send(Event::Failed(closed()));
    }
  }
}

/// The next command, waited for no longer than until a request has waited too long.
fn sleep(commands: &Receiver<Command>, deadline: Option<Instant>) -> Result<Command, RecvTimeoutError> {
  match deadline {
    Some(deadline) => commands.recv_timeout(deadline.saturating_duration_since(Instant::now())),
    None => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
  }
}
