//! What the scheduler needs from a model: implemented over llama.cpp, faked in tests.

use crate::error::Result;
use crate::grammar::{Constraint, TokenMask};
use crate::options::GenerateOptions;
use crate::speculate::Kind;

/// Index of a token in the vocabulary.
pub type Token = i32;

/// Index of one independent token history inside a context, from 0.
pub type SequenceId = i32;

/// One token of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchToken {
  /// The token to evaluate.
  pub token: Token,
  /// Its position in the sequence, from 0.
  pub position: i32,
  /// The sequence it belongs to.
  pub sequence: SequenceId,
  /// Whether logits are wanted at this position.
  pub logits: bool,
}

/// How a decode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
  /// Every token of the batch is in the KV cache.
  Complete,
  /// The interrupt was seen; only the micro-batches before it are in the KV cache.
  Interrupted,
}

/// One alternative of a position.
#[derive(Debug, Clone, PartialEq)]
pub struct Logprob {
  /// The token.
  pub token: Token,
  /// Natural logarithm of the model's probability, before any sampler.
  pub logprob: f32,
}

/// Log probabilities of one position.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprobs {
  /// The chosen token.
  pub chosen: Logprob,
  /// The most likely tokens, most likely first.
  pub top: Vec<Logprob>,
}

/// The token that was chosen at one position.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
  /// The token.
  pub token: Token,
  /// Present when the options ask for log probabilities.
  pub logprobs: Option<TokenLogprobs>,
}

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

/// Among which tokens one is proposed.
#[derive(Clone, Copy)]
pub struct Among<'a> {
  /// No end-of-generation token.
  pub ban_end: bool,
  /// The likeliest one of those that the sampling options leave.
  pub greedy: bool,
  /// These only.
  pub mask: Option<&'a TokenMask>,
}

/// A wish for drafted tokens.
#[derive(Debug, Clone, Copy)]
pub struct DraftRequest<'a> {
  /// The sequence that they are for.
  pub sequence: SequenceId,
  /// Its tokens; the last one is not evaluated yet.
  pub history: &'a [Token],
  /// Most tokens to draft, at least 1.
  pub most: usize,
  /// Draws from what the drafter finds possible; `None` for what it finds most likely.
  pub draw: Option<Draw>,
}

/// How far a restored snapshot can be cut back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
  /// To any position: attention over the whole sequence.
  #[default]
  Any,
  /// By at most this many positions: 1 with sliding-window attention, 0 with recurrent state.
  Back(usize),
}

impl Reach {
  /// How many of `stored` tokens serve a prompt that shares the first `shared` of them and may use `limit` of its own.
  pub fn usable(self, stored: usize, shared: usize, limit: usize) -> usize {
    let wanted = shared.min(limit);
    match self {
      Self::Back(most) if stored - wanted > most => 0,
      _ => wanted,
    }
  }
}

/// A context of a model that can evaluate and sample several sequences.
pub trait Decoder {
  /// State of one request's sampling: chain, grammar, random generator, history.
  type Sampler;

  /// Most tokens one `decode` takes.
  fn batch_size(&self) -> usize;

  /// Most tokens (prompt and completion) that all sequences hold together; one alone may use them all.
  fn context_size(&self) -> usize;

  /// Starts sampling for a request. Fails on a grammar that does not parse.
  fn sampler(&self, options: &GenerateOptions, prompt: &[Token]) -> Result<Self::Sampler>;

  /// Seed in use by `sampler`.
  fn seed(&self, sampler: &Self::Sampler) -> u32;

  /// Evaluates `batch`, in which the tokens of a sequence follow each other. `interrupt` is polled while it runs.
  fn decode(&mut self, batch: &[BatchToken], interrupt: &dyn Fn() -> bool) -> Result<Decoded>;

  /// Chooses the token that follows row `row` of the last batch and tells the sampler of it.
  /// With `ban_end` no end-of-generation token is chosen.
  fn sample(&mut self, sampler: &mut Self::Sampler, row: usize, ban_end: bool) -> Result<Sampled>;

  /// As `sample`, where `drafted` was drawn to stand here: it is kept with a probability that leaves the distribution
  /// the model's, or another token is drawn (Leviathan et al. 2023, algorithm 1). A right answer, too, is what `sample`
  /// gives.
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

  /// Number of tokens in the vocabulary.
  fn vocabulary_size(&self) -> usize;

  /// The constraint that the options ask for, at its beginning. Fails on a grammar that does not parse.
  fn constraint(&self, options: &GenerateOptions) -> Result<Option<Box<dyn Constraint>>>;

  /// As `sample`, among the tokens that `among` leaves, and without telling the sampler: `accept` does. May be called
  /// again for the same row, with a mask.
  fn propose(&mut self, sampler: &mut Self::Sampler, row: usize, among: Among<'_>) -> Result<Sampled>;

  /// Tells the sampler of a token that was proposed, or that a constraint determined.
  fn accept(&mut self, sampler: &mut Self::Sampler, token: Token) -> Result<()>;

  /// Appends the text bytes of `token` to `out`; control tokens have none unless the request preserves them.
  fn piece(&self, sampler: &Self::Sampler, token: Token, out: &mut Vec<u8>);

  /// Whether `token` ends a generation.
  fn is_end(&self, token: Token) -> bool;

  /// Whether [`rewind`](Self::rewind) to `from` would succeed.
  fn can_rewind(&self, sequence: SequenceId, from: usize) -> bool;

  /// Removes the positions from `from` on. False, with nothing changed, when the memory cannot go back that far.
  fn rewind(&mut self, sequence: SequenceId, from: usize) -> bool;

  /// Removes every position of `sequence`.
  fn clear(&mut self, sequence: SequenceId);

  /// Number of positions of `sequence` in the KV cache.
  fn length(&self, sequence: SequenceId) -> usize;

  /// Gives the empty sequence `to` the first `length` positions of `from`, sharing their cells where the memory can.
  /// Allowed where a rewind of `from` to `length` is. False, with `to` empty, when it cannot be done.
  fn copy(&mut self, from: SequenceId, to: SequenceId, length: usize) -> bool;

  /// How far a restored snapshot can be cut back.
  fn reach(&self) -> Reach;

  /// A copy of the sequence outside the context; `None` when there is no memory for it.
  fn snapshot(&mut self, sequence: SequenceId) -> Option<Vec<u8>>;

  /// Replaces the sequence by a snapshot of this or an equal context. False, with the sequence empty, when it does not
  /// fit.
  fn restore(&mut self, sequence: SequenceId, state: &[u8]) -> bool;

  /// Whether [`shift`](Self::shift) is possible at all.
  fn can_shift(&self) -> bool;

  /// Removes the `discard` positions after the first `keep` and moves the later ones forward. Only for cells that the
  /// sequence shares with no other. False, with nothing changed, when the memory cannot.
  fn shift(&mut self, sequence: SequenceId, keep: usize, discard: usize) -> bool;

  /// What this decoder drafts with.
  fn drafter(&self) -> Option<Kind> {
    None
  }

  /// A request begins in `sequence`: its drafts depend on it alone.
  fn begin_drafts(&mut self, sequence: SequenceId) {
    let _ = sequence;
  }

  /// The newest token of `sequence` was sampled after row `row` of the last batch; `evaluated` tokens come before it.
  fn observe(&mut self, sequence: SequenceId, row: usize, evaluated: usize) {
    let _ = (sequence, row, evaluated);
  }

  /// Tokens before the last one of `history` that the drafter of `sequence` has not read: a draft begins with these.
  fn unread(&self, sequence: SequenceId, history: &[Token]) -> usize {
    let _ = (sequence, history);
    0
  }

  /// Proposes tokens that may follow each history, at most as many as asked for. None is always a right answer: a draft
  /// that cannot be made is no failure.
  fn draft(&mut self, requests: &[DraftRequest]) -> Vec<Vec<Token>> {
    vec![Vec::new(); requests.len()]
  }
}
