//! What the scheduler asks of a context.

use local_inference_core::decoder::{
  Among, BatchToken, Decode, Decoded, Draft, DraftRequest, Drafted, KvMemory, Reach, Sample, Sampled,
  SequenceId, Token,
};
use local_inference_core::error::Result;
use local_inference_core::grammar::Constraint;
use local_inference_core::history::History;
use local_inference_core::options::GenerateOptions;
use local_inference_core::speculate::Kind;

use super::Context;
use super::memory::WHOLE;
use crate::draft::Drafter;
use crate::sample::Sampler;

impl Decode for Context {
  /// A micro-batch: a decode of several would hold up every stream for as many times as long.
  fn batch_size(&self) -> usize {
    self.settings.micro_batch.min(self.settings.batch) as usize
  }

  fn context_size(&self) -> usize {
    self.size() as usize
  }

  fn decode(&mut self, batch: &[BatchToken], interrupt: &dyn Fn() -> bool) -> Result<Decoded> {
    self.evaluate(batch, interrupt)
  }
}

impl Sample for Context {
  type Sampler = Sampler;

  fn sampler(&self, options: &GenerateOptions, prompt: &[Token]) -> Result<Sampler> {
    Sampler::new(&self.model, options, prompt, self.size().cast_signed())
  }

  fn seed(&self, sampler: &Sampler) -> u32 {
    sampler.seed()
  }

  fn sample(&mut self, sampler: &mut Sampler, row: usize, ban_end: bool) -> Result<Sampled> {
    sampler.sample(self.pointer, i32::try_from(row).unwrap_or(i32::MAX), ban_end)
  }

  fn constraint(&self, options: &GenerateOptions) -> Result<Option<Box<dyn Constraint>>> {
    self.model.constraint(options)
  }

  fn propose(&mut self, sampler: &mut Sampler, row: usize, among: Among<'_>) -> Result<Sampled> {
    sampler.propose(self.pointer, i32::try_from(row).unwrap_or(i32::MAX), among)
  }

  fn accept(&mut self, sampler: &mut Sampler, token: Token) -> Result<()> {
    sampler.accept(token)
  }

  fn vocabulary_size(&self) -> usize {
    self.model.vocabulary_size() as usize
  }

  fn piece(&self, sampler: &Sampler, token: Token, out: &mut Vec<u8>) {
    self.model.vocabulary().piece(token, sampler.preserves(token), out);
  }

  fn is_end(&self, token: Token) -> bool {
    self.model.vocabulary().is_end(token)
  }
}

impl KvMemory for Context {
  fn can_truncate(&self, sequence: SequenceId, position: usize) -> bool {
    position == 0 || self.remembers(sequence, position)
  }

  fn truncate(&mut self, sequence: SequenceId, position: usize) -> bool {
    if position == 0 {
      self.clear_sequence(sequence);
      if let Some(drafter) = &mut self.drafter {
        drafter.follow_clear(sequence);
      }
      return true;
    }
    let cut = self.truncate_to(sequence, position);
    if let Some(drafter) = self.drafter.as_mut().filter(|_| cut) {
      drafter.follow_truncate(sequence, position);
    }
    cut
  }

  fn length(&self, sequence: SequenceId) -> usize {
    self.positions(sequence)
  }

  fn copy(&mut self, from: SequenceId, to: SequenceId, position: usize) -> bool {
    let copied = self.copy_positions(from, to, position);
    if let Some(drafter) = self.drafter.as_mut().filter(|_| copied) {
      drafter.follow_copy(from, to, position);
    }
    copied
  }

  fn reach(&self) -> Reach {
    self.snapshot_reach()
  }

  fn snapshot(&mut self, sequence: SequenceId) -> Option<Vec<u8>> {
    self.save(sequence, WHOLE)
  }

  fn restore(&mut self, sequence: SequenceId, state: &[u8]) -> bool {
    if let Some(drafter) = &mut self.drafter {
      drafter.follow_clear(sequence);
    }
    self.load(sequence, state, WHOLE)
  }

  fn can_shift(&self) -> bool {
    self.movable()
  }

  fn shift(&mut self, sequence: SequenceId, keep: usize, discard: usize) -> bool {
    let moved = self.shift_positions(sequence, keep, discard);
    if let Some(drafter) = self.drafter.as_mut().filter(|_| moved) {
      // Its later positions would be those of other tokens.
      drafter.follow_clear(sequence);
    }
    moved
  }
}

impl Draft for Context {
  fn drafter(&self) -> Option<Kind> {
    self.drafter.as_ref().map(Drafter::kind)
  }

  fn begin_drafts(&mut self, sequence: SequenceId) {
    if let Some(drafter) = &mut self.drafter {
      drafter.begin(sequence);
    }
  }

  fn observe(&mut self, sequence: SequenceId, row: usize, position: usize) {
    if let Some(drafter) = &mut self.drafter {
      drafter.observe(sequence, row, position);
    }
  }

  fn unread(&self, sequence: SequenceId, history: &History) -> usize {
    self.drafter.as_ref().map_or(0, |drafter| drafter.unread(sequence, history))
  }

  fn draft(&mut self, requests: &[DraftRequest]) -> Vec<Vec<Token>> {
    match &mut self.drafter {
      Some(drafter) => drafter.draft(requests),
      None => vec![Vec::new(); requests.len()],
    }
  }

  fn verify(
    &mut self,
    sampler: &mut Sampler,
    row: usize,
    ban_end: bool,
    drafted: Drafted,
  ) -> Result<Sampled> {
    let row = i32::try_from(row).unwrap_or(i32::MAX);
    match &self.drafter {
      Some(source) => sampler.verify(self.pointer, row, ban_end, source, drafted),
      None => sampler.sample(self.pointer, row, ban_end),
    }
  }
}
