//! A decoder whose KV cache is a list of tokens, strict about everything that llama.cpp is silent about.

use std::cell::RefCell;
use std::rc::Rc;

use local_inference_core::decoder::{
  Among, BatchToken, Decoded, Decoder, DraftRequest, Drafted, Logprob, Reach, Sampled, SequenceId, Token,
  TokenLogprobs,
};
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::grammar::Constraint;
use local_inference_core::options::{ContextFull, GenerateOptions};
use local_inference_core::speculate::Kind;

use super::model;
pub(crate) use super::setup::{Drafting, Memory, Setup};
use super::state::State;

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
  /// A full context makes it lose a part of its history, of which no sampler is told.
  forgets: bool,
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
    let forgets = matches!(options.queue.context_full, ContextFull::Shift { .. });
    Ok(FakeSampler { prompt, history, seed, logprobs: options.logprobs.is_some(), forgets })
  }

  fn seed(&self, sampler: &FakeSampler) -> u32 {
    sampler.seed
  }

  fn decode(&mut self, batch: &[BatchToken], interrupt: &dyn Fn() -> bool) -> Result<Decoded> {
    assert!(!batch.is_empty() && batch.len() <= self.setup.batch, "a batch of {} tokens", batch.len());
    let call = self.with(|state| state.begin(batch));
    let fails = self.with(|state| state.failing_decodes.contains(&call));
    for (number, micro_batch) in batch.chunks(self.setup.micro_batch).enumerate() {
      self.with(State::poll);
      let interrupted = interrupt();
      self.with(|state| state.hooks.iter().filter(|(at, _)| *at == state.polls).for_each(|(_, hook)| hook()));
      if interrupted {
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
    assert!(sampler.forgets || history == &sampler.history, "the KV cache and the sampler disagree");
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

  fn verify(
    &mut self,
    sampler: &mut FakeSampler,
    row: usize,
    ban_end: bool,
    drafted: Drafted,
  ) -> Result<Sampled> {
    self.with(|state| state.verified.push(drafted));
    self.sample(sampler, row, ban_end)
  }

  fn vocabulary_size(&self) -> usize {
    usize::try_from(model::VOCABULARY).expect("a size")
  }

  fn constraint(&self, options: &GenerateOptions) -> Result<Option<Box<dyn Constraint>>> {
    options.constraint.as_ref().map(|wanted| model::grammars().start(&wanted.source, &[])).transpose()
  }

  fn propose(
    &mut self,
    sampler: &mut FakeSampler,
    row: usize,
    Among { ban_end, greedy, mask }: Among<'_>,
  ) -> Result<Sampled> {
    let length = sampler.history.len();
    let mut choice = self.sample(sampler, row, ban_end)?;
    sampler.history.truncate(length);
    if greedy {
      choice.token = model::token("b");
    }
    if let Some(mask) = mask {
      // The wish, or the next token after it that may come.
      let wish = choice.token;
      let others = (0..model::VOCABULARY).map(|step| (wish + step) % model::VOCABULARY);
      let allowed = others.into_iter().find(|&token| mask.allows(token) && !(ban_end && token == model::END));
      choice.token =
        allowed.ok_or_else(|| EngineError::new(ErrorCode::GrammarInvalid, "the mask leaves no token"))?;
    }
    Ok(choice)
  }

  fn accept(&mut self, sampler: &mut FakeSampler, token: Token) -> Result<()> {
    sampler.history.push(token);
    Ok(())
  }

  fn piece(&self, _: &FakeSampler, token: Token, out: &mut Vec<u8>) {
    out.extend_from_slice(model::piece(token));
  }

  fn is_end(&self, token: Token) -> bool {
    token == model::END
  }

  fn can_rewind(&self, sequence: SequenceId, from: usize) -> bool {
    let length = self.length(sequence);
    assert!(from <= length, "a rewind of {length} tokens to {from}");
    match self.setup.memory {
      Memory::Full => true,
      Memory::Window(most) => length - from <= most,
      Memory::Recurrent => length == from,
    }
  }

  fn rewind(&mut self, sequence: SequenceId, from: usize) -> bool {
    let possible = self.can_rewind(sequence, from);
    if possible {
      self.with(|state| state.cells[index(sequence)].truncate(from));
    }
    possible
  }

  fn clear(&mut self, sequence: SequenceId) {
    self.with(|state| state.cells[index(sequence)].clear());
  }

  fn length(&self, sequence: SequenceId) -> usize {
    self.state.borrow().cells[index(sequence)].len()
  }

  fn copy(&mut self, from: SequenceId, to: SequenceId, length: usize) -> bool {
    assert!(from != to && self.can_rewind(from, length), "a copy of a beginning that is not there any more");
    self.with(|state| {
      assert!(state.cells[index(to)].is_empty(), "a copy over other tokens");
      state.cells[index(to)] = state.cells[index(from)][..length].to_vec();
    });
    true
  }

  fn reach(&self) -> Reach {
    match self.setup.memory {
      Memory::Full => Reach::Any,
      Memory::Window(most) => Reach::Back(most.min(1)),
      Memory::Recurrent => Reach::Back(0),
    }
  }

  fn snapshot(&mut self, sequence: SequenceId) -> Option<Vec<u8>> {
    self.with(|state| {
      state.snapshots += 1;
      Some(state.tokens(sequence).iter().flat_map(|token| token.to_le_bytes()).collect())
    })
  }

  fn restore(&mut self, sequence: SequenceId, state: &[u8]) -> bool {
    let (tokens, rest) = state.as_chunks::<4>();
    assert!(rest.is_empty());
    let context = self.setup.context;
    self.with(|state| {
      state.restored += 1;
      state.cells[index(sequence)].clear();
      for token in tokens {
        state.put(sequence, Token::from_le_bytes(*token));
      }
      let used = state.used();
      assert!(used <= context, "{used} cells are in use after a restore, the context has {context}");
    });
    true
  }

  fn can_shift(&self) -> bool {
    self.setup.memory == Memory::Full
  }

  fn shift(&mut self, sequence: SequenceId, keep: usize, discard: usize) -> bool {
    assert!(self.can_shift());
    self.with(|state| {
      let own = &state.cells[index(sequence)];
      let others = state.cells.iter().enumerate().filter(|&(other, _)| other != index(sequence));
      assert!(others.flat_map(|(_, cells)| cells).all(|cell| !own.contains(cell)), "a shift of shared cells");
      state.cells[index(sequence)].drain(keep..keep + discard);
    });
    true
  }

  fn drafter(&self) -> Option<Kind> {
    self.setup.drafting.map(|_| Kind::Assistant)
  }

  fn observe(&mut self, _: SequenceId, row: usize, evaluated: usize) {
    self.with(|state| {
      let history = state.rows.get(&row).unwrap_or_else(|| panic!("row {row} has no logits"));
      assert_eq!(history.len(), evaluated, "row {row} comes after another token");
    });
  }

  fn draft(&mut self, requests: &[DraftRequest]) -> Vec<Vec<Token>> {
    let wrong_every = self.setup.drafting.expect("a drafter").wrong_every;
    let draft = |request: &DraftRequest| {
      assert!(request.most > 0, "nothing was asked for");
      assert_eq!(self.length(request.sequence) + 1, request.history.len(), "only the last token is new");
      self.state.borrow().drafted(request.history, request.most, wrong_every)
    };
    let drafts: Vec<_> = requests.iter().map(draft).collect();
    self.with(|state| {
      state.drafts.extend(drafts.iter().map(Vec::len));
      state.drawn.extend(requests.iter().map(|request| request.draw.is_some()));
    });
    drafts
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

pub(super) fn index(number: i32) -> usize {
  usize::try_from(number).expect("an index is not negative")
}
