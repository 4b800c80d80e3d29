//! A sink that keeps what it was sent.

use std::cell::RefCell;
use std::rc::Rc;

use local_inference_core::decoder::TokenLogprobs;
use local_inference_core::error::ErrorCode;
use local_inference_core::generate::{Event, FinishReason, Finished, Sink};

/// The consumer's end. Clones share what came.
#[derive(Clone)]
pub(crate) struct Inbox(Rc<RefCell<Contents>>);

struct Contents {
  events: Vec<Event>,
  ready: bool,
}

/// What was read of a whole request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
  pub(crate) text: String,
  pub(crate) reasoning: String,
  /// Tokens that the pieces spoke of.
  pub(crate) tokens: usize,
  pub(crate) reason: FinishReason,
  pub(crate) stop: Option<String>,
}

impl Inbox {
  pub(crate) fn new() -> Self {
    Self(Rc::new(RefCell::new(Contents { events: Vec::new(), ready: true })))
  }

  /// Opens or closes it for more pieces.
  pub(crate) fn set_ready(&self, ready: bool) {
    self.0.borrow_mut().ready = ready;
  }

  pub(crate) fn is_ready(&self) -> bool {
    self.0.borrow().ready
  }

  /// Whether a final event came.
  pub(crate) fn ended(&self) -> bool {
    self.0.borrow().events.last().is_some_and(is_final)
  }

  /// Number of final events.
  pub(crate) fn endings(&self) -> usize {
    self.0.borrow().events.iter().filter(|event| is_final(event)).count()
  }

  pub(crate) fn events(&self) -> Vec<Event> {
    self.0.borrow().events.clone()
  }

  /// The text so far.
  pub(crate) fn text(&self) -> String {
    self.pieces(|text, _| text.to_owned())
  }

  /// The reasoning so far.
  pub(crate) fn reasoning(&self) -> String {
    self.pieces(|_, reasoning| reasoning.to_owned())
  }

  fn pieces(&self, choose: impl Fn(&str, &str) -> String) -> String {
    let contents = self.0.borrow();
    let chosen = contents.events.iter().filter_map(|event| match event {
      Event::Piece(piece) => Some(choose(&piece.text, &piece.reasoning)),
      _ => None,
    });
    chosen.collect()
  }

  /// Tokens that the pieces spoke of so far.
  pub(crate) fn tokens(&self) -> usize {
    let contents = self.0.borrow();
    let tokens = contents.events.iter().map(|event| match event {
      Event::Piece(piece) => piece.tokens as usize,
      _ => 0,
    });
    tokens.sum()
  }

  /// Log probabilities so far.
  pub(crate) fn logprobs(&self) -> Vec<TokenLogprobs> {
    let contents = self.0.borrow();
    let entries = contents.events.iter().flat_map(|event| match event {
      Event::Piece(piece) => piece.logprobs.clone(),
      _ => Vec::new(),
    });
    entries.collect()
  }

  /// The last word of a request that did not fail.
  pub(crate) fn finished(&self) -> Finished {
    match self.0.borrow().events.last() {
      Some(Event::Done(finished)) => finished.clone(),
      other => panic!("the request did not end well: {other:?}"),
    }
  }

  /// Whether the request failed.
  pub(crate) fn failed(&self) -> bool {
    matches!(self.0.borrow().events.last(), Some(Event::Failed(_)))
  }

  /// Code and message of a request that failed.
  pub(crate) fn failure(&self) -> (ErrorCode, String) {
    match self.0.borrow().events.last() {
      Some(Event::Failed(error)) => (error.code(), error.to_string()),
      other => panic!("the request did not fail: {other:?}"),
    }
  }

  /// All of a request that did not fail.
  pub(crate) fn outcome(&self) -> Outcome {
    let Finished { reason, stop, usage } = self.finished();
    assert_eq!(usage.completion_tokens, self.tokens(), "the pieces and the usage count alike");
    Outcome { text: self.text(), reasoning: self.reasoning(), tokens: self.tokens(), reason, stop }
  }
}

impl Sink for Inbox {
  fn ready(&self) -> bool {
    self.0.borrow().ready
  }

  fn send(&mut self, event: Event) {
    let mut contents = self.0.borrow_mut();
    assert!(!contents.events.last().is_some_and(is_final), "{event:?} after the final event");
    contents.events.push(event);
  }
}

fn is_final(event: &Event) -> bool {
  !matches!(event, Event::Piece(_))
}
