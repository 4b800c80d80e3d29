//! The pieces of a generation: the context's thread pushes, JavaScript pulls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::{Logprob, TokenLogprobs};
use local_inference_core::error::Result;
use local_inference_core::generate::{self, Event, FinishReason, Finished, Piece};
use local_inference_core::stats;
use local_inference_llama::running::RunningContext;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::children::Handle;
use crate::error::to_js;
use crate::exit::{self, Work};
use crate::numbers::{count, milliseconds};

/// Pieces that wait for JavaScript before decoding pauses.
const BACKLOG: usize = 64;

#[napi(object, object_from_js = false)]
pub struct TokenAlternative {
  pub token: u32,
  pub text: String,
  pub logprob: f64,
}

#[napi(object, object_from_js = false)]
pub struct TokenLogprob {
  pub token: u32,
  pub text: String,
  pub logprob: f64,
  pub top: Vec<TokenAlternative>,
}

#[napi(object, object_from_js = false)]
pub struct Usage {
  pub prompt_tokens: f64,
  pub cached_prompt_tokens: f64,
  pub completion_tokens: f64,
  pub reasoning_tokens: f64,
  pub forced_tokens: f64,
  pub refused_tokens: f64,
  pub drafted_tokens: f64,
  pub accepted_tokens: f64,
  pub draft_windows: Vec<u32>,
  pub plain_tokens_per_second: f64,
  pub speculative_speed_up: f64,
  pub queue_ms: f64,
  pub prefill_ms: f64,
  pub time_to_first_token_ms: f64,
  pub decode_ms: f64,
  pub prefill_tokens_per_second: f64,
  pub decode_tokens_per_second: f64,
  pub seed: u32,
  pub state_ignored: Option<String>,
}

#[allow(clippy::struct_field_names, reason = "the names JavaScript sees")]
#[napi(object, object_from_js = false)]
pub struct Finish {
  #[napi(ts_type = "\"stop\" | \"length\" | \"cancelled\" | \"context\"")]
  pub finish_reason: &'static str,
  pub stop_string: Option<String>,
  pub usage: Usage,
}

#[napi(object, object_from_js = false)]
pub struct Chunk {
  pub text: String,
  pub reasoning: String,
  pub tokens: u32,
  pub logprobs: Option<Vec<TokenLogprob>>,
  pub done: Option<Finish>,
}

/// The producer's end.
pub(crate) struct Sink {
  events: UnboundedSender<Event>,
  waiting: Arc<AtomicUsize>,
  /// Kept until the request has ended.
  _work: Work,
}

impl generate::Sink for Sink {
  fn ready(&self) -> bool {
    self.waiting.load(Ordering::Acquire) < BACKLOG
  }

  fn send(&mut self, event: Event) {
    self.waiting.fetch_add(1, Ordering::AcqRel);
    // JavaScript has dropped the stream; its drop has also cancelled the request.
    let _ = self.events.send(event);
  }
}

/// The consumer's end.
struct Source {
  events: Arc<Mutex<Option<UnboundedReceiver<Event>>>>,
  waiting: Arc<AtomicUsize>,
  cancel: CancelToken,
  context: RunningContext,
  handle: Arc<Handle>,
}

#[napi]
pub struct NativeStream(Arc<Source>);

/// Both ends of a request's event channel.
pub(crate) fn channel(
  handle: Arc<Handle>,
  context: RunningContext,
  cancel: CancelToken,
) -> Result<(Sink, NativeStream)> {
  let work = exit::enter(&cancel)?;
  let (sender, receiver) = unbounded_channel();
  let waiting = Arc::new(AtomicUsize::new(0));
  let sink = Sink { events: sender, waiting: Arc::clone(&waiting), _work: work };
  let events = Arc::new(Mutex::new(Some(receiver)));
  let source = Source { events, waiting, cancel, context, handle };
  Ok((sink, NativeStream(Arc::new(source))))
}

#[napi]
impl NativeStream {
  /// Everything generated since the last call; the last chunk carries `done`, after it comes null.
  #[napi(ts_return_type = "Promise<Chunk | null>")]
  pub fn next<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Option<Chunk>>> {
    let source = Arc::clone(&self.0);
    let mut turn = Box::pin(Arc::clone(&source.events).lock_owned());
    // Takes its place in the queue now: workers start several reads in any order.
    let first = turn.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let read = async move {
      let mut events = match first {
        Poll::Ready(events) => events,
        Poll::Pending => turn.await,
      };
      let chunk = source.next(&mut events).await;
      Ok((chunk, events))
    };
    // The next read gets its turn when this one is settled, so that they also settle in order.
    env.spawn_future_with_callback(read, |_, (chunk, _events)| chunk)
  }

  /// Stops the generation within one micro-batch; the stream then ends with finish reason `cancelled`.
  #[napi]
  pub fn cancel(&self) {
    self.0.cancel();
  }
}

impl Source {
  async fn next(&self, source: &mut Option<UnboundedReceiver<Event>>) -> napi::Result<Option<Chunk>> {
    let Some(events) = source else { return Ok(None) };
    let mut piece = Piece::default();
    let lost = || to_js(self.handle.lost("context"));
    let mut next = events.recv().await.ok_or_else(lost);
    loop {
      match next {
        Ok(Event::Piece(more)) if !self.cancel.is_cancelled() => piece.append(more),
        // After a cancel nobody wants what was still on its way.
        Ok(Event::Piece(_)) => piece = Piece::default(),
        Ok(Event::Done(finished)) => {
          *source = None;
          return Ok(Some(self.chunk(piece, Some(finished))));
        }
        Ok(Event::Failed(error)) => {
          *source = None;
          return Err(to_js(error));
        }
        Err(error) => {
          *source = None;
          return Err(error);
        }
      }
      self.consumed();
      next = match events.try_recv() {
        Ok(event) => Ok(event),
        Err(_) if piece.tokens > 0 => return Ok(Some(self.chunk(piece, None))),
        Err(_) => events.recv().await.ok_or_else(lost),
      };
    }
  }

  fn cancel(&self) {
    self.cancel.cancel();
    self.context.wake();
  }

  fn consumed(&self) {
    if self.waiting.fetch_sub(1, Ordering::AcqRel) == BACKLOG {
      self.context.wake();
    }
  }

  fn chunk(&self, piece: Piece, finished: Option<Finished>) -> Chunk {
    let logprobs: Vec<_> = piece.logprobs.into_iter().map(|token| self.logprob(token)).collect();
    Chunk {
      text: piece.text,
      reasoning: piece.reasoning,
      tokens: piece.tokens,
      logprobs: Some(logprobs).filter(|logprobs| !logprobs.is_empty()),
      done: finished.map(Finish::from),
    }
  }

  fn logprob(&self, token: TokenLogprobs) -> TokenLogprob {
    let chosen = self.alternative(&token.chosen);
    TokenLogprob {
      token: chosen.token,
      text: chosen.text,
      logprob: chosen.logprob,
      top: token.top.iter().map(|alternative| self.alternative(alternative)).collect(),
    }
  }

  fn alternative(&self, alternative: &Logprob) -> TokenAlternative {
    TokenAlternative {
      token: alternative.token.cast_unsigned(),
      text: self
        .handle
        .shared()
        .model()
        .map_or_else(|_| String::new(), |model| model.token_text(alternative.token)),
      logprob: f64::from(alternative.logprob),
    }
  }
}

impl Drop for Source {
  /// Nobody reads any more: neither JavaScript nor a pending read holds on to the stream.
  fn drop(&mut self) {
    self.cancel();
  }
}

impl From<Finished> for Finish {
  fn from(finished: Finished) -> Self {
    Self {
      finish_reason: match finished.reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::Cancelled => "cancelled",
        FinishReason::Context => "context",
      },
      stop_string: finished.stop,
      usage: Usage::from(finished.usage),
    }
  }
}

impl From<stats::Usage> for Usage {
  fn from(usage: stats::Usage) -> Self {
    let speed_up = usage.speed_up();
    Self {
      prompt_tokens: count(usage.prompt_tokens),
      cached_prompt_tokens: count(usage.cached_prompt_tokens),
      completion_tokens: count(usage.completion_tokens),
      reasoning_tokens: count(usage.reasoning_tokens),
      forced_tokens: count(usage.forced_tokens),
      refused_tokens: count(usage.refused_tokens),
      drafted_tokens: count(usage.drafted_tokens),
      accepted_tokens: count(usage.accepted_tokens),
      plain_tokens_per_second: usage.plain_rate,
      speculative_speed_up: speed_up,
      queue_ms: milliseconds(usage.queue),
      prefill_ms: milliseconds(usage.prefill),
      time_to_first_token_ms: milliseconds(usage.time_to_first_token),
      decode_ms: milliseconds(usage.decode),
      prefill_tokens_per_second: usage.prefill_rate(),
      decode_tokens_per_second: usage.decode_rate(),
      seed: usage.seed,
      draft_windows: usage.draft_windows,
      state_ignored: usage.state_ignored,
    }
  }
}
