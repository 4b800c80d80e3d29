//! How the fake chooses tokens: as its model says, or its script.

use local_inference_core::decoder::{Among, Logprob, Sample, Sampled, Token, TokenLogprobs};
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::grammar::Constraint;
use local_inference_core::options::{ContextFull, GenerateOptions};

use super::Fake;
use crate::support::model;

/// Remembers what it was told, so that it can be compared with what the KV cache holds.
pub(crate) struct FakeSampler {
  prompt: Vec<Token>,
  history: Vec<Token>,
  seed: u32,
  logprobs: bool,
  /// A full context makes it lose a part of its history, of which no sampler is told.
  forgets: bool,
}

impl Sample for Fake {
  type Sampler = FakeSampler;

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

  fn sample(&mut self, sampler: &mut FakeSampler, row: usize, ban_end: bool) -> Result<Sampled> {
    let state = self.state.borrow();
    let history = &state.rows.get(&row).unwrap_or_else(|| panic!("row {row} has no logits")).words;
    let text = history.iter().filter(|word| **word >= 0);
    assert!(sampler.forgets || text.eq(&sampler.history), "the KV cache and the sampler disagree");
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

  fn vocabulary_size(&self) -> usize {
    usize::try_from(model::VOCABULARY).expect("a size")
  }

  fn piece(&self, _: &FakeSampler, token: Token, out: &mut Vec<u8>) {
    out.extend_from_slice(model::piece(token));
  }

  fn is_end(&self, token: Token) -> bool {
    token == model::END
  }
}
