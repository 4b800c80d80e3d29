//! A decoder whose KV cache is a list of tokens, strict about everything that llama.cpp is silent about.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::{
  BatchToken, Decoded, Decoder, Logprob, Sampled, SequenceId, Token, TokenLogprobs,
};
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::options::GenerateOptions;

use super::model;

/// How far a sequence can go back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Memory {
  /// To any position.
  #[default]
  Full,
  /// By at most this many positions, as with sliding-window attention.
  Window(usize),
  /// Not at all, and an interrupted batch loses its sequences: a recurrent state.
  Recurrent,
}

/// Size and habits of the fake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
  pub(crate) parallel: u32,
  pub(crate) context: usize,
  pub(crate) batch: usize,
  pub(crate) micro_batch: usize,
  pub(crate) memory: Memory,
}

impl Default for Setup {
  fn default() -> Self {
    Self { parallel: 1, context: 256, batch: 16, micro_batch: 4, memory: Memory::Full }
  }
}

/// What a test reads and scripts while the scheduler owns the decoder.
#[derive(Default)]
pub(crate) struct State {
  /// The KV cache.
  pub(crate) cells: Vec<Vec<Token>>,
  /// Batches of completed and failed decodes, and what interrupted ones were given.
  pub(crate) batches: Vec<Vec<BatchToken>>,
  /// Tokens that were evaluated.
  pub(crate) evaluated: usize,
  /// Most cells that were in use at once.
  pub(crate) peak: usize,
  /// Micro-batches that were begun.
  pub(crate) polls: usize,
  /// Output by prompt, instead of the model's.
  pub(crate) scripts: HashMap<Vec<Token>, Vec<Token>>,
  /// Numbers of the decode calls that fail, from 0.
  pub(crate) failing_decodes: HashSet<usize>,
  /// Prompts whose sampler cannot be created.
  pub(crate) failing_samplers: HashSet<Vec<Token>>,
  /// Number of the token (from 0) that cannot be chosen, by prompt.
  pub(crate) failing_samples: HashMap<Vec<Token>, usize>,
  /// Cancels when this many micro-batches were begun.
  pub(crate) cancels: Vec<(usize, CancelToken)>,
  /// Histories of the last batch's rows that have logits.
  rows: HashMap<usize, Vec<Token>>,
}

/// The decoder. Clones share their state.
#[derive(Clone)]
pub(crate) struct Fake {
  pub(crate) setup: Setup,
  state: Rc<RefCell<State>>,
}

/// Remembers what it was told, so that it can be compared with what the KV cache holds.
pub(crate) struct FakeSampler {
  prompt: Vec<Token>,
  history: Vec<Token>,
  seed: u32,
  logprobs: bool,
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

impl Decoder for Fake {
  type Sampler = FakeSampler;

  fn batch_size(&self) -> usize {
    self.setup.batch
  }

  fn context_size(&self) -> usize {
    self.setup.context
  }

  fn sampler(&self, options: &GenerateOptions, prompt: &[Token]) -> Result<FakeSampler> {
    if self.state.borrow().failing_samplers.contains(prompt) {
      return Err(EngineError::new(ErrorCode::GrammarInvalid, "scripted: no sampler"));
    }
    let (prompt, history) = (prompt.to_vec(), prompt.to_vec());
    let seed = options.sampling.seed.unwrap_or(7);
    Ok(FakeSampler { prompt, history, seed, logprobs: options.logprobs.is_some() })
  }

  fn seed(&self, sampler: &FakeSampler) -> u32 {
    sampler.seed
  }

  fn decode(&mut self, batch: &[BatchToken], interrupt: &dyn Fn() -> bool) -> Result<Decoded> {
    assert!(!batch.is_empty() && batch.len() <= self.setup.batch, "a batch of {} tokens", batch.len());
    let call = self.with(|state| {
      state.rows.clear();
      state.batches.push(batch.to_vec());
      state.batches.len() - 1
    });
    let fails = self.with(|state| state.failing_decodes.contains(&call));
    for (number, micro_batch) in batch.chunks(self.setup.micro_batch).enumerate() {
      self.with(State::poll);
      if interrupt() {
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

  fn sample(&mut self, sampler: &mut FakeSampler, row: usize, ban_end: bool) -> Result<Sampled> {
    let state = self.state.borrow();
    let history = state.rows.get(&row).unwrap_or_else(|| panic!("row {row} has no logits"));
    assert_eq!(history, &sampler.history, "the KV cache and the sampler disagree");
    let number = sampler.history.len() - sampler.prompt.len();
    if state.failing_samples.get(&sampler.prompt) == Some(&number) {
      return Err(EngineError::new(ErrorCode::GrammarInvalid, "scripted: no token"));
    }
    let token = match state.scripts.get(&sampler.prompt) {
      Some(script) => script.get(number).copied().filter(|&token| !(ban_end && token == model::END)),
      None => Some(model::next(history, sampler.seed, ban_end)),
    };
    let token = token.unwrap_or(if ban_end { model::token("b") } else { model::END });
    sampler.history.push(token);
    let logprobs =
      sampler.logprobs.then(|| TokenLogprobs { chosen: Logprob { token, logprob: -0.5 }, top: Vec::new() });
    Ok(Sampled { token, logprobs })
  }

  fn piece(&self, _: &FakeSampler, token: Token, out: &mut Vec<u8>) {
    out.extend_from_slice(model::piece(token));
  }

  fn is_end(&self, token: Token) -> bool {
    token == model::END
  }

  fn rewind(&mut self, sequence: SequenceId, from: usize) -> bool {
    let memory = self.setup.memory;
    self.with(|state| {
      let cells = &mut state.cells[index(sequence)];
      assert!(from <= cells.len(), "a rewind of {} tokens to {from}", cells.len());
      let back = cells.len() - from;
      let possible = match memory {
        Memory::Full => true,
        Memory::Window(most) => back <= most,
        Memory::Recurrent => back == 0,
      };
      if possible {
        cells.truncate(from);
      }
      possible
    })
  }

  fn clear(&mut self, sequence: SequenceId) {
    self.with(|state| state.cells[index(sequence)].clear());
  }

  fn length(&self, sequence: SequenceId) -> usize {
    self.state.borrow().cells[index(sequence)].len()
  }
}

impl Fake {
  fn interrupted(&self, batch: &[BatchToken]) {
    self.with(|state| state.rows.clear());
    if self.setup.memory == Memory::Recurrent {
      self.with(|state| batch.iter().for_each(|token| state.cells[index(token.sequence)].clear()));
    }
  }
}

impl State {
  fn poll(&mut self) {
    self.polls += 1;
    for (at, cancel) in &self.cancels {
      if *at == self.polls {
        cancel.cancel();
      }
    }
  }

  fn evaluate(&mut self, first_row: usize, micro_batch: &[BatchToken], context: usize) {
    for (offset, token) in micro_batch.iter().enumerate() {
      assert!(
        (0..model::VOCABULARY).contains(&token.token),
        "token {} is not in the vocabulary",
        token.token
      );
      let cells = &mut self.cells[index(token.sequence)];
      assert_eq!(cells.len(), index(token.position), "sequence {} has a gap", token.sequence);
      cells.push(token.token);
      if token.logits {
        self.rows.insert(first_row + offset, cells.clone());
      }
    }
    self.evaluated += micro_batch.len();
    let used = self.used();
    assert!(used <= context, "{used} cells are in use, the context has {context}");
    self.peak = self.peak.max(used);
  }

  /// Cells in use.
  pub(crate) fn used(&self) -> usize {
    self.cells.iter().map(Vec::len).sum()
  }
}

fn index(number: i32) -> usize {
  usize::try_from(number).expect("an index is not negative")
}
