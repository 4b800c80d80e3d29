//! Tokens proposed ahead.

use super::decode::SequenceId;
use super::sample::{Sample, Sampled};
use crate::error::Result;
use crate::history::History;
use crate::speculate::Kind;
use crate::token::Token;

/// How drafted tokens are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
  /// Temperature of the request, above 0: drafter and model have to sample alike.
  pub temperature: f32,
  /// Seed in use by the request.
  pub seed: u32,
}

/// A token of the latest draft that was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drafted {
  /// The sequence that it was drafted for.
  pub sequence: SequenceId,
  /// Its place in the draft, from 0.
  pub place: usize,
  /// The token.
  pub token: Token,
}

/// What is to be drafted.
#[derive(Debug, Clone, Copy)]
pub struct DraftRequest<'a> {
  /// The sequence that the draft is for.
  pub sequence: SequenceId,
  /// What the draft follows; it ends with a token that is not evaluated yet.
  pub history: &'a History,
  /// Most tokens to draft, at least 1.
  pub most: usize,
  /// Draws from what the drafter finds possible; `None` for what it finds most likely.
  pub draw: Option<Draw>,
}

/// Proposes tokens. By default it has no drafter.
pub trait Draft: Sample {
  /// What this decoder drafts with.
  fn drafter(&self) -> Option<Kind> {
    None
  }

  /// A request begins in `sequence`: its drafts depend on it alone.
  fn begin_drafts(&mut self, sequence: SequenceId) {
    let _ = sequence;
  }

  /// The newest token of `sequence`, whose place is `position`, was sampled after row `row` of the last batch.
  fn observe(&mut self, sequence: SequenceId, row: usize, position: usize) {
    let _ = (sequence, row, position);
  }

  /// Tokens before the last one of `history` that the drafter of `sequence` has not read: a draft begins with these.
  fn unread(&self, sequence: SequenceId, history: &History) -> usize {
    let _ = (sequence, history);
    0
  }

  /// Proposes tokens that may follow each history, at most as many as asked for. Proposing none is always correct: a
  /// draft that cannot be made is no failure.
  fn draft(&mut self, requests: &[DraftRequest]) -> Vec<Vec<Token>> {
    vec![Vec::new(); requests.len()]
  }

  /// As `sample`, where `drafted` was drawn to stand here: it is kept with a probability that leaves the distribution
  /// the model's, or another token is drawn (Leviathan et al. 2023, algorithm 1). Falling back to `sample` is always
  /// correct.
  fn verify(
    &mut self,
    sampler: &mut Self::Sampler,
    row: usize,
    ban_end: bool,
    drafted: Drafted,
  ) -> Result<Sampled> {
    let _ = drafted;
    self.sample(sampler, row, ban_end)
  }
}
