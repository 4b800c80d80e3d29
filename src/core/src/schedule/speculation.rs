//! Drafts in the batch, and what becomes of them.
//!
//! Drafted tokens follow the newest token of their sequence in the same decode. Sampling then goes on as if they had been
//! decoded one by one: as long as what it chooses is what was drafted, the next row's logits are there already. So the
//! output is that of plain decoding whatever was drafted, with every sampler, constraint and stop rule.

use std::time::{Duration, Instant};

use super::Scheduler;
use super::batch::Row;
use super::cells::distinct;
use crate::decoder::{BatchToken, Decoder, DraftRequest, Drafted, Reach, SequenceId, Token};
use crate::generate::Sink;
use crate::speculate::{
  Acceptance, Account, Beside, Costs, Kind, Limits, NgramDrafter, Step, Window, expected_tokens,
};

/// What all requests of a context share.
#[derive(Debug, Clone, Default)]
pub(super) struct Speculation {
  /// Limits of the context; `None` where nothing is drafted.
  limits: Option<Limits>,
  ngram: bool,
  costs: Costs,
  account: Account,
  /// Acceptance as the latest verdict left it.
  known: Option<Acceptance>,
}

impl Speculation {
  pub(super) fn new(limits: Option<Limits>, ngram: bool) -> Self {
    Self { limits, ngram, ..Self::default() }
  }
}

/// What a running request has of it.
#[derive(Debug)]
pub(super) struct Speculating {
  window: Window,
  ngram: Option<NgramDrafter>,
  step: Step,
  beside: Beside,
}

/// A draft in the batch.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
  tokens: Vec<Token>,
  /// Row of the first one.
  first: usize,
  /// Drafted to be compared only: not in the batch.
  probe: bool,
  /// Drawn at the request's temperature.
  drawn: bool,
  /// Tokens that the drafter had to read for it.
  unread: usize,
}

impl Draft {
  /// The drafted token that is in the batch at place `index`, if there is one.
  pub(super) fn token(&self, index: usize) -> Option<Token> {
    self.tokens.get(index).copied().filter(|_| !self.probe)
  }

  /// What was drawn to stand at place `index` in `sequence`, in the batch or not.
  pub(super) fn drawn(&self, sequence: SequenceId, index: usize) -> Option<Drafted> {
    let token = self.tokens.get(index).copied().filter(|_| self.drawn)?;
    Some(Drafted { sequence, place: index, token })
  }

  /// Row of the token at place `index`.
  pub(super) fn row(&self, index: usize) -> usize {
    self.first + index
  }

  /// Tokens that are in the batch.
  pub(super) fn len(&self) -> usize {
    if self.probe { 0 } else { self.tokens.len() }
  }
}

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// The state of a request that speculates.
  pub(super) fn speculating(&self, wanted: crate::options::Speculative) -> Option<Speculating> {
    let limits = wanted.within(self.speculation.limits?)?;
    // What cannot go back by a few tokens cannot take a wrong draft back.
    if self.decoder.reach() == Reach::Back(0) {
      return None;
    }
    let ngram = match self.decoder.drafter() {
      Some(_) => None,
      None if self.speculation.ngram => Some(NgramDrafter::new()),
      None => return None,
    };
    let window = Window::new(limits, self.speculation.known.as_ref());
    Some(Speculating { window, ngram, step: Step::Plain, beside: Beside::default() })
  }

  /// Where drafts come from, if anything is drafted.
  pub fn drafts_from(&self) -> Option<Kind> {
    self.speculation.limits?;
    self.decoder.drafter().or_else(|| self.speculation.ngram.then_some(Kind::Ngram))
  }

  /// Adds drafts for the sequences of `rows` to the batch, each after the token that it follows. Not beside a prefill, whose time would hide what they cost.
  pub(super) fn add_drafts(&mut self, rows: &mut [Row]) {
    if self.speculation.limits.is_none() || !self.batch.iter().all(|token| token.logits) {
      return;
    }
    self.decide(rows);
    let started = Instant::now();
    self.make_drafts(rows);
    let longest = rows.iter().map(|row| row.draft.tokens.len()).max().unwrap_or(0);
    let unread = rows.iter().map(|row| row.draft.unread).sum();
    if longest > 0 || unread > 0 {
      self.speculation.costs.drafted(longest, unread, started.elapsed().as_secs_f64());
    }
    // Without prefill each row is a token, and the rows are in their order.
    let newest = std::mem::take(&mut self.batch);
    for (row, newest) in rows.iter_mut().zip(newest) {
      row.index = self.batch.len();
      self.batch.push(newest);
      row.draft.first = self.batch.len();
      let slot = &self.slots[row.slot];
      let position = slot.cached.len();
      for (index, &token) in row.draft.tokens.iter().enumerate().filter(|_| !row.draft.probe) {
        let position = i32::try_from(position + index).unwrap_or(i32::MAX);
        self.batch.push(BatchToken { token, position, sequence: slot.sequence, logits: true });
      }
    }
  }

  /// Chooses the windows, which share the room of the batch and of the KV cache.
  fn decide(&mut self, rows: &mut [Row]) {
    let pending: usize = self.slots.iter().filter(|slot| slot.resident()).map(super::Slot::tail).sum();
    let used = distinct(self.slots.iter().map(|slot| &slot.cells)) + pending;
    let cells = self.decoder.context_size().saturating_sub(used);
    let mut room = cells.min(self.decoder.batch_size().saturating_sub(self.batch.len()));
    self.speculation.account.begin();
    let mut in_batch = rows.len();
    #[allow(clippy::cast_precision_loss, reason = "row counts are small")]
    let mut tokens = rows.len() as f64;
    for row in rows {
      let slot = &mut self.slots[row.slot];
      let Some(running) = &mut slot.running else { continue };
      let left = running.generation.remaining(&self.decoder).saturating_sub(1);
      let answers = running.generation.answers();
      let Some(own) = running.speculating.as_mut().filter(|_| answers) else { continue };
      own.beside = Beside { rows: in_batch - 1, tokens: tokens - 1.0 };
      let Speculation { costs, account, .. } = &mut self.speculation;
      let unread = match own.ngram {
        Some(_) => 0,
        None => self.decoder.unread(slot.sequence, &running.generation.history),
      };
      own.step = own.window.choose(costs, account, own.beside, room.min(left), unread);
      if own.step != Step::Plain {
        row.draft.unread = unread;
      }
      if let Step::Draft(window) = own.step {
        room -= window;
        in_batch += window;
        tokens += expected_tokens(&own.window.acceptance().by_place(window)) - 1.0;
      }
    }
  }

  fn make_drafts(&mut self, rows: &mut [Row]) {
    let mut wanting = Vec::new();
    for (index, row) in rows.iter_mut().enumerate() {
      let Some(running) = &mut self.slots[row.slot].running else { continue };
      let Some(own) = &mut running.speculating else { continue };
      let most = match own.step {
        Step::Plain => continue,
        Step::Probe => 1,
        Step::Draft(window) => window,
      };
      row.draft.probe = own.step == Step::Probe;
      match &mut own.ngram {
        Some(ngram) => row.draft.tokens = ngram.draft(&running.generation.history, most),
        None => wanting.push((index, most)),
      }
    }
    if wanting.is_empty() {
      return;
    }
    let requests: Vec<_> = wanting
      .iter()
      .filter_map(|&(index, most)| {
        let slot = &self.slots[rows[index].slot];
        let generation = &slot.running.as_ref()?.generation;
        let draw = generation.draw();
        Some(DraftRequest { sequence: slot.sequence, history: &generation.history, most, draw })
      })
      .collect();
    let drafts = self.decoder.draft(&requests);
    let drawn: Vec<_> = requests.iter().map(|request| request.draw.is_some()).collect();
    for (((index, _), draft), drawn) in wanting.into_iter().zip(drafts).zip(drawn) {
      rows[index].draft.tokens = draft;
      rows[index].draft.drawn = drawn;
    }
  }

  /// The decode of the batch took `time`, and was `complete` or came to nothing.
  pub(super) fn timed(&mut self, time: Duration, complete: bool) {
    let costs = &mut self.speculation.costs;
    if complete && self.batch.iter().all(|token| token.logits) {
      costs.decoded(self.batch.len(), time.as_secs_f64());
    } else {
      costs.interrupted();
    }
  }

  /// The tokens of a row were sampled: the sequence keeps `accepted` drafted ones, and the newest token was sampled after
  /// row `last`, before which there are `evaluated` tokens. `ended`: the generation is over.
  pub(super) fn settle(&mut self, row: &Row, accepted: usize, last: usize, evaluated: usize, ended: bool) {
    let Self { slots, decoder, speculation, counters, .. } = self;
    let slot = &mut slots[row.slot];
    let Some(running) = &mut slot.running else { return };
    counters.drafted_tokens += row.draft.len() as u64;
    counters.accepted_tokens += accepted as u64;
    let history = &running.generation.history;
    let base = slot.cached.len();
    slot.cached.extend_from_slice(&history[base..base + accepted]);
    slot.cells.grow(accepted);
    if let Some(own) = &mut running.speculating {
      let Speculation { costs, account, known, .. } = speculation;
      match own.step {
        Step::Probe if !row.draft.tokens.is_empty() => {
          own.window.probed(costs, account, own.beside, row.draft.tokens.first() == history.get(base));
        }
        Step::Plain | Step::Probe => own.window.decoded(account),
        Step::Draft(_) => {
          // What follows the end of a text was not tested.
          let tested = if ended { accepted } else { row.draft.len() };
          own.window.verified(costs, account, own.beside, tested, accepted);
          *known = Some(own.window.acceptance().clone());
        }
      }
      own.step = Step::Plain;
      let plain = costs.plain_seconds().map(|seconds| seconds * costs.ratio(own.beside.rows + 1));
      running.generation.speculated(row.draft.len(), accepted, plain);
    }
    let sequence = slot.sequence;
    if accepted < row.draft.len() {
      let keep = slot.cached.len();
      slot.rewind(decoder, keep);
    }
    decoder.observe(sequence, last, evaluated);
  }
}
