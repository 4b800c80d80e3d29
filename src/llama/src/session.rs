//! A context with the thread that owns it: requests come through a channel, events leave through each request's sink.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use local_inference_core::cancel::CancelToken;
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::fit::{self, FitInput, FitPlan};
use local_inference_core::generate::{Event, Request, Sink};
use local_inference_core::gguf::ModelKind;
use local_inference_core::hardware;
use local_inference_core::options::{ContextOptions, FlashAttention};
use local_inference_core::schedule::{Activity, Scheduler, closed};

use crate::context::{Context, ContextSettings};
use crate::model::Model;

/// Where a request's events go, from the session's thread.
struct BoxedSink(Box<dyn Sink + Send>);

impl Sink for BoxedSink {
  fn ready(&self) -> bool {
    self.0.ready()
  }

  fn send(&mut self, event: Event) {
    self.0.send(event);
  }
}

enum Command {
  Submit(Box<Request>, BoxedSink),
  /// A consumer has read, or a request was cancelled.
  Wake,
  Close,
}

/// What a session turned out to be.
#[derive(Debug, Clone)]
pub struct SessionInfo {
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
}

/// A running context. Clones share it; [`Session::close`] ends it for all.
#[derive(Clone)]
pub struct Session {
  commands: Sender<Command>,
  thread: Arc<Mutex<Option<JoinHandle<()>>>>,
  info: Arc<SessionInfo>,
  stop: CancelToken,
}

impl Session {
  /// Opens a context for generation; its size and KV types follow from the options, the model and the free memory.
  ///
  /// # Errors
  /// `UNSUPPORTED` for an embedding model, `OUT_OF_MEMORY`, `INVALID_INPUT`.
  pub fn open(model: &Model, options: &ContextOptions) -> Result<Self> {
    options.validate()?;
    if model.header().kind != ModelKind::Chat {
      return Err(EngineError::new(
        ErrorCode::Unsupported,
        format!(
          "{} is not a model that generates text (architecture {}): use it for embeddings, or choose a chat model",
          file_name(&model.header().path),
          model.header().architecture
        ),
      ));
    }
    let plan = plan(model, options)?;
    let settings = ContextSettings {
      size: plan.context,
      sequences: options.parallel,
      batch: options.batch_size,
      micro_batch: options.effective_micro_batch(),
      threads: options.threads.unwrap_or_else(|| hardware::default_threads(&hardware::facts())),
      kv_k: plan.kv_k,
      kv_v: plan.kv_v,
      flash_attention: options.flash_attention,
      pooling: None,
    };
    let stop = CancelToken::new();
    let context = Context::new(model, settings, stop.clone())?;
    let info = SessionInfo {
      context_size: context.size(),
      threads: context.settings().threads,
      batch_size: context.settings().batch,
      micro_batch_size: context.settings().micro_batch,
      plan,
    };
    let (commands, receiver) = mpsc::channel();
    let scheduler = Scheduler::new(context, options.parallel);
    let thread = std::thread::Builder::new()
      .name("inference".to_owned())
      .spawn(move || run(scheduler, &receiver))
      .map_err(|error| {
        EngineError::new(ErrorCode::Internal, format!("no thread could be started: {error}"))
      })?;
    Ok(Self { commands, thread: Arc::new(Mutex::new(Some(thread))), info: Arc::new(info), stop })
  }

  /// What the session turned out to be.
  pub fn info(&self) -> &SessionInfo {
    &self.info
  }

  /// Queues a request. A closed session fails it at once.
  pub fn submit(&self, request: Request, sink: impl Sink + Send + 'static) {
    let sink = BoxedSink(Box::new(sink));
    if let Err(mpsc::SendError(Command::Submit(_, mut sink))) =
      self.commands.send(Command::Submit(Box::new(request), sink))
    {
      sink.send(Event::Failed(closed()));
    }
  }

  /// Tells the thread to look again: a sink has room, or a request was cancelled.
  pub fn wake(&self) {
    // A closed session has nothing to look at.
    let _ = self.commands.send(Command::Wake);
  }

  /// Ends every request with `CLOSED`, waits for the thread and frees the context. Idempotent.
  pub fn close(&self) {
    self.stop.cancel();
    let _ = self.commands.send(Command::Close);
    let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(thread) = thread {
      // A panicked thread has already failed its requests by dropping their sinks.
      let _ = thread.join();
    }
  }
}

fn file_name(path: &Path) -> String {
  path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn plan(model: &Model, options: &ContextOptions) -> Result<FitPlan> {
  let facts = hardware::facts();
  let gpu = crate::backend::devices().iter().filter(|d| d.kind == "gpu").map(|d| d.memory_free).sum::<u64>();
  let headroom = options.memory_headroom.unwrap_or_else(|| fit::default_headroom(facts.memory_total));
  fit::plan(&FitInput {
    requested_context: options.requested_size(),
    kv_k: options.kv_type_k,
    kv_v: options.kv_type_v,
    sequences: options.parallel,
    micro_batch: options.effective_micro_batch(),
    flash_attention: options.flash_attention != FlashAttention::Off,
    weights_loaded: true,
    ..FitInput::new(model.header(), facts.memory_available.saturating_add(gpu), headroom)?
  })
}

/// The session's thread: takes every waiting command between steps, sleeps when there is nothing to do.
fn run(mut scheduler: Scheduler<Context, BoxedSink>, commands: &Receiver<Command>) {
  let mut activity = Activity::Idle;
  'running: loop {
    let mut next = match activity {
      Activity::Worked => commands.try_recv(),
      Activity::Blocked | Activity::Idle => commands.recv().map_err(|_| TryRecvError::Disconnected),
    };
    loop {
      match next {
        Ok(Command::Submit(request, sink)) => scheduler.submit(*request, sink),
        Ok(Command::Wake) => {}
        Ok(Command::Close) | Err(TryRecvError::Disconnected) => break 'running,
        Err(TryRecvError::Empty) => break,
      }
      next = commands.try_recv();
    }
    activity = scheduler.tick();
  }
  scheduler.fail_all(&closed());
  while let Ok(command) = commands.try_recv() {
    if let Command::Submit(_, mut sink) = command {
      sink.send(Event::Failed(closed()));
    }
  }
}
