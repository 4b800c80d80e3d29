//! A decoder whose KV cache is a list of tokens, strict about everything that llama.cpp is silent about.

mod draft;
mod memory;
mod sample;

use std::cell::RefCell;
use std::rc::Rc;

use local_inference_core::decoder::{BatchToken, Decode, Decoded, MediaPlace, Token};
use local_inference_core::error::{EngineError, ErrorCode, Result};

pub(crate) use super::setup::{Drafting, Memory, Setup};
use super::state::State;

/// The decoder. Clones share their state.
#[derive(Clone)]
pub(crate) struct Fake {
  pub(crate) setup: Setup,
  state: Rc<RefCell<State>>,
}

impl Fake {
  pub(crate) fn new(setup: Setup) -> Self {
    let cells = vec![Vec::new(); setup.parallel as usize];
    Self { setup, state: Rc::new(RefCell::new(State { cells, ..State::default() })) }
  }

  /// Reads or changes the state.
  pub(crate) fn with<T>(&self, action: impl FnOnce(&mut State) -> T) -> T {
    action(&mut self.state.borrow_mut())
  }

  /// Generates `output` for `prompt`.
  pub(crate) fn script(&self, prompt: &[Token], output: &[Token]) {
    self.with(|state| state.scripts.insert(prompt.to_vec(), output.to_vec()));
  }
}

impl Decode for Fake {
  fn batch_size(&self) -> usize {
    self.setup.batch
  }

  fn context_size(&self) -> usize {
    self.setup.context
  }

  fn decode(&mut self, batch: &[BatchToken], interrupt: &dyn Fn() -> bool) -> Result<Decoded> {
    assert!(!batch.is_empty() && batch.len() <= self.setup.batch, "a batch of {} tokens", batch.len());
    let call = self.with(|state| state.begin(batch));
    let fails = self.with(|state| state.failing_decodes.contains(&call));
    for (number, micro_batch) in batch.chunks(self.setup.micro_batch).enumerate() {
      if self.asks(interrupt) {
        self.interrupted(batch);
        return Ok(Decoded::Interrupted);
      }
      // A failure leaves what it had begun.
      self.with(|state| state.evaluate(number * self.setup.micro_batch, micro_batch, self.setup.context));
      if fails {
        self.with(|state| state.rows.clear());
        return Err(EngineError::new(ErrorCode::DecodeFailed, "scripted: decode"));
      }
    }
    Ok(Decoded::Complete)
  }

  fn decode_media(&mut self, place: MediaPlace, interrupt: &dyn Fn() -> bool) -> Result<Decoded> {
    if self.asks(interrupt) {
      if self.setup.memory == Memory::Recurrent {
        self.with(|state| state.cells[index(place.sequence)].clear());
      }
      return Ok(Decoded::Interrupted);
    }
    self.with(|state| state.evaluate_media(place, self.setup.context));
    Ok(Decoded::Complete)
  }
}

impl Fake {
  /// Whether a micro-batch is not to begin.
  fn asks(&self, interrupt: &dyn Fn() -> bool) -> bool {
    self.with(State::poll);
    let interrupted = interrupt();
    self.with(|state| state.hooks.iter().filter(|(at, _)| *at == state.polls).for_each(|(_, hook)| hook()));
    interrupted
  }

  fn interrupted(&self, batch: &[BatchToken]) {
    self.with(|state| state.rows.clear());
    if self.setup.memory == Memory::Recurrent {
      self.with(|state| batch.iter().for_each(|token| state.cells[index(token.sequence)].clear()));
    }
  }
}

pub(super) fn index(number: i32) -> usize {
  usize::try_from(number).expect("an index is not negative")
}
