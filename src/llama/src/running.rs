//! A context with the thread that runs it: requests come through a channel, events leave through each request's sink.
//! JavaScript sees it as `NativeContext`, and users as `LocalContext`.

mod open;
mod work;

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use local_inference_core::cancel::CancelToken;
use local_inference_core::durable::Stored;
use local_inference_core::fit::FitPlan;
use local_inference_core::generate::{Event, Request, Sink};
use local_inference_core::schedule::{Arrival, closed};
use local_inference_core::speculate::{Kind, Unusable};
use local_inference_core::stats::Metrics;
use local_inference_core::sync::lock;

use crate::state::StateStore;
use work::{BoxedSink, Command};

/// What was chosen for a context.
#[derive(Debug, Clone)]
pub struct RunningInfo {
  /// Size, KV types and the reason for them.
  pub plan: FitPlan,
  /// Tokens that one sequence holds.
  pub context_size: u32,
  /// Threads that compute.
  pub threads: u32,
  /// Most tokens of one decode.
  pub batch_size: u32,
  /// Most tokens that are evaluated at once.
  pub micro_batch_size: u32,
  /// Sequences that are evaluated side by side.
  pub parallel: u32,
  /// Most bytes of snapshots in memory.
  pub prefix_cache: u64,
  /// Where drafts come from; `None` for plain decoding.
  pub drafts_from: Option<Kind>,
  /// Why the drafter that was asked for is not used.
  pub unusable_drafter: Option<Unusable>,
}

/// A running context. Clones share it; [`RunningContext::close`] ends it for all.
#[derive(Clone)]
pub struct RunningContext {
  commands: Sender<Command>,
  thread: Arc<Mutex<Option<JoinHandle<()>>>>,
  info: Arc<RunningInfo>,
  metrics: Arc<Mutex<Metrics>>,
  state: Option<Arc<StateStore>>,
  stop: CancelToken,
}

impl RunningContext {
  /// What was chosen for the context.
  pub fn info(&self) -> &RunningInfo {
    &self.info
  }

  /// What it did until its last step. Requests whose end was told are in it.
  pub fn metrics(&self) -> Metrics {
    *lock(&self.metrics)
  }

  /// Queues a request. A closed context fails it at once. Reads the stored state of its conversation first, if that is
  /// not in memory: not for a thread that must not wait for a disk.
  pub fn submit(&self, request: Request, sink: impl Sink + Send + 'static) {
    let sink = BoxedSink(Box::new(sink));
    let stored = self.state.as_ref().map_or(Stored::Nothing, |state| state.find(&request));
    let arrival = Arrival { request, sink, stored };
    if let Err(mpsc::SendError(Command::Submit(arrival))) =
      self.commands.send(Command::Submit(Box::new(arrival)))
    {
      let Arrival { mut sink, .. } = *arrival;
      sink.send(Event::Failed(closed()));
    }
  }

  /// Tells the thread to look again: a sink has room, or a request was cancelled.
  pub fn wake(&self) {
    // A closed context has nothing to look at.
    let _ = self.commands.send(Command::Wake);
  }

  /// Ends every request with `CLOSED`, waits for the thread and for what is being stored, and frees the context.
  /// Idempotent.
  pub fn close(&self) {
    self.stop.cancel();
    let _ = self.commands.send(Command::Close);
    let thread = lock(&self.thread).take();
    if let Some(thread) = thread {
      // A panicked thread has already failed its requests by dropping their sinks.
      let _ = thread.join();
    }
    if let Some(state) = &self.state {
      state.close();
    }
  }
}
