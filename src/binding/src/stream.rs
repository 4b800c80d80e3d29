//! The way of a generation's pieces: the context's thread pushes, JavaScript pulls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::{Logprob, TokenLogprobs};
use local_inference_core::error::Result;
use local_inference_core::generate::{self, Event, Finished, Piece};
use local_inference_llama::running::RunningContext;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::children::Handle;
use crate::chunk::{Chunk, Finish, TokenAlternative, TokenLogprob};
use crate::error::to_js;
use crate::process::exit::{self, Work};

/// Pieces that wait for JavaScript before decoding pauses.
const BACKLOG: usize = 64;

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
