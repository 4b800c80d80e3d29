//! The pieces of a generation: the session's thread pushes, JavaScript pulls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::{Logprob, TokenLogprobs};
use local_inference_core::generate::{self, Event, FinishReason, Finished, Piece};
use local_inference_core::stats;
use local_inference_llama::session::Session;
use napi_derive::napi;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::children::Handle;
use crate::error::to_js;
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
  pub drafted_tokens: f64,
  pub accepted_tokens: f64,
  pub queue_ms: f64,
  pub prefill_ms: f64,
  pub time_to_first_token_ms: f64,
  pub decode_ms: f64,
  pub prefill_tokens_per_second: f64,
  pub decode_tokens_per_second: f64,
  pub seed: u32,
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

#[napi]
pub struct NativeStream {
  events: Mutex<Option<UnboundedReceiver<Event>>>,
  waiting: Arc<AtomicUsize>,
  cancel: CancelToken,
  session: Session,
  handle: Arc<Handle>,
}

/// Both ends of a request's event channel.
pub(crate) fn channel(handle: Arc<Handle>, session: Session, cancel: CancelToken) -> (Sink, NativeStream) {
  let (sender, receiver) = unbounded_channel();
  let waiting = Arc::new(AtomicUsize::new(0));
  let sink = Sink { events: sender, waiting: Arc::clone(&waiting) };
  (sink, NativeStream { events: Mutex::new(Some(receiver)), waiting, cancel, session, handle })
}

#[napi]
impl NativeStream {
  /// Everything generated since the last call; the last chunk carries `done`, after it comes null.
  #[napi]
  pub async fn next(&self) -> napi::Result<Option<Chunk>> {
    let mut guard = self.events.lock().await;
    let Some(events) = guard.as_mut() else { return Ok(None) };
    let mut piece = Piece::default();
    let lost = || to_js(self.handle.lost("context"));
    let mut next = events.recv().await.ok_or_else(lost);
    loop {
      match next {
        Ok(Event::Piece(more)) if !self.cancel.is_cancelled() => append(&mut piece, more),
        // After a cancel nobody wants what was still on its way.
        Ok(Event::Piece(_)) => piece = Piece::default(),
        Ok(Event::Done(finished)) => {
          *guard = None;
          return Ok(Some(self.chunk(piece, Some(finished))));
        }
        Ok(Event::Failed(error)) => {
          *guard = None;
          return Err(to_js(error));
        }
        Err(error) => {
          *guard = None;
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

  /// Stops the generation within one micro-batch; the stream then ends with finish reason `cancelled`.
  #[napi]
  pub fn cancel(&self) {
    self.cancel.cancel();
    self.session.wake();
  }
}

impl NativeStream {
  fn consumed(&self) {
    if self.waiting.fetch_sub(1, Ordering::AcqRel) == BACKLOG {
      self.session.wake();
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

impl Drop for NativeStream {
  fn drop(&mut self) {
    self.cancel();
  }
}

fn append(piece: &mut Piece, more: Piece) {
  piece.text.push_str(&more.text);
  piece.reasoning.push_str(&more.reasoning);
  piece.tokens += more.tokens;
  piece.logprobs.extend(more.logprobs);
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
    Self {
      prompt_tokens: count(usage.prompt_tokens),
      cached_prompt_tokens: count(usage.cached_prompt_tokens),
      completion_tokens: count(usage.completion_tokens),
      reasoning_tokens: count(usage.reasoning_tokens),
      drafted_tokens: count(usage.drafted_tokens),
      accepted_tokens: count(usage.accepted_tokens),
      queue_ms: milliseconds(usage.queue),
      prefill_ms: milliseconds(usage.prefill),
      time_to_first_token_ms: milliseconds(usage.time_to_first_token),
      decode_ms: milliseconds(usage.decode),
      prefill_tokens_per_second: usage.prefill_rate(),
      decode_tokens_per_second: usage.decode_rate(),
      seed: usage.seed,
    }
  }
}
