//! Drafts in the batch, and what becomes of them.
//!
//! Drafted tokens follow the newest token of their sequence in the same decode. Sampling then goes on as if they had been
//! decoded one by one: as long as what it chooses is what was drafted, the next row's logits are there already. So the
//! output is that of plain decoding whatever was drafted, with every sampler, constraint and stop rule.

use std::time::{Duration, Instant};

use super::batch::Batch;
use super::draft::{Row, Speculating};
use super::kv_cache::KvCache;
use super::requests::Requests;
use crate::decoder::{Decoder, DraftRequest, Reach};
use crate::generate::{Generation, Sink};
use crate::options::Speculative;
use crate::speculate::{
  Acceptance, Account, Beside, Choice, Costs, Kind, Limits, NgramDrafter, Window, expected_tokens,
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

/// What became of a row and its draft.
pub(super) struct Verdict {
  /// Drafted tokens that were kept.
  pub(super) accepted: usize,
  /// Cells before the token that follows the row.
  pub(super) base: usize,
  /// The generation is over.
  pub(super) ended: bool,
}

impl Speculation {
  pub(super) fn new(limits: Option<Limits>, ngram: bool) -> Self {
    Self { limits, ngram, ..Self::default() }
  }

  /// The state of a request that speculates.
  pub(super) fn begin<D: Decoder>(&self, decoder: &D, wanted: Speculative) -> Option<Speculating> {
    let limits = wanted.within(self.limits?)?;
    // What cannot go back by a few tokens cannot take a wrong draft back.
    if decoder.reach() == Reach::Back(0) {
      return None;
    }
    let ngram = match decoder.drafter() {
      Some(_) => None,
      None if self.ngram => Some(NgramDrafter::new()),
      None => return None,
    };
    let window = Window::new(limits, self.known.as_ref());
    Some(Speculating { window, ngram, choice: Choice::Plain, beside: Beside::default() })
  }

  /// Where drafts come from, if anything is drafted.
  pub(super) fn drafts_from<D: Decoder>(&self, decoder: &D) -> Option<Kind> {
    self.limits?;
    decoder.drafter().or_else(|| self.ngram.then_some(Kind::Ngram))
  }

  /// Adds drafts for the sequences of `rows` to the batch, each after the token that it follows. Not beside a prefill,
  /// whose time would hide what they cost.
  pub(super) fn add_drafts<D: Decoder, K: Sink>(
    &mut self,
    decoder: &mut D,
    requests: &mut Requests<D::Sampler, K>,
    cache: &KvCache,
    batch: &mut Batch,
    rows: &mut [Row],
  ) {
    if self.limits.is_none() || !batch.is_plain() {
      return;
    }
    let room = cache.room().min(decoder.batch_size().saturating_sub(batch.tokens().len()));
    self.decide(decoder, requests, cache, room, rows);
    let started = Instant::now();
    make_drafts(decoder, requests, cache, rows);
    let longest = rows.iter().map(|row| row.draft.tokens.len()).max().unwrap_or(0);
    let unread = rows.iter().map(|row| row.draft.unread).sum();
    if longest > 0 || unread > 0 {
      self.costs.drafted(longest, unread, started.elapsed().as_secs_f64());
    }
    // Without prefill each row is a token, and the rows are in their order.
    let end = |slot: usize| cache.cached(slot).position(cache.cached(slot).len_cells());
    let places = batch.interleave(rows.iter().map(|row| (end(row.slot), row.draft.in_batch())));
    for (row, index) in rows.iter_mut().zip(places) {
      row.index = index;
      row.draft.first = index + 1;
    }
  }

  /// Chooses the windows, which share `room` tokens of the batch and of the KV cache.
  fn decide<D: Decoder, K: Sink>(
    &mut self,
    decoder: &D,
    requests: &mut Requests<D::Sampler, K>,
    cache: &KvCache,
    mut room: usize,
    rows: &mut [Row],
  ) {
    self.account.begin();
    let mut in_batch = rows.len();
    #[allow(clippy::cast_precision_loss, reason = "row counts are small")]
    let mut tokens = rows.len() as f64;
    for row in rows {
      let Some(running) = requests.get_mut(row.slot) else { continue };
      let left = running.generation.remaining(decoder).saturating_sub(1);
      let answers = running.generation.answers();
      let Some(own) = running.speculating.as_mut().filter(|_| answers) else { continue };
      own.beside = Beside { rows: in_batch - 1, tokens: tokens - 1.0 };
      let unread = match own.ngram {
        Some(_) => 0,
        None => decoder.unread(cache.id(row.slot), &running.generation.history),
      };
      let Self { costs, account, .. } = self;
      own.choice = own.window.choose(costs, account, own.beside, room.min(left), unread);
      if own.choice != Choice::Plain {
        row.draft.unread = unread;
      }
      if let Choice::Draft(window) = own.choice {
        room -= window;
        in_batch += window;
        tokens += expected_tokens(&own.window.acceptance().by_place(window)) - 1.0;
      }
    }
  }

  /// The decode of `batch` took `time`, and was `complete` or came to nothing.
  pub(super) fn timed(&mut self, batch: &Batch, time: Duration, complete: bool) {
    if complete && batch.is_plain() {
      self.costs.decoded(batch.tokens().len(), time.as_secs_f64());
    } else {
      self.costs.interrupted();
    }
  }

  /// Learns from what became of a row of a request.
  pub(super) fn settle<S>(
    &mut self,
    own: Option<&mut Speculating>,
    generation: &mut Generation<S>,
    row: &Row,
    verdict: &Verdict,
  ) {
    let Some(own) = own else { return };
    let Self { costs, account, known, .. } = self;
    let &Verdict { accepted, base, ended } = verdict;
    let drafted = row.draft.in_batch().len();
    match own.choice {
      Choice::Probe if !row.draft.tokens.is_empty() => {
        let right = row.draft.tokens.first().copied() == generation.history.token(base);
        own.window.probed(costs, account, own.beside, right);
      }
      Choice::Plain | Choice::Probe => own.window.decoded(account),
      Choice::Draft(_) => {
        // What follows the end of a text was not tested.
        let tested = if ended { accepted } else { drafted };
        own.window.verified(costs, account, own.beside, tested, accepted);
        *known = Some(own.window.acceptance().clone());
      }
    }
    own.choice = Choice::Plain;
    let plain = costs.plain_seconds().map(|seconds| seconds * costs.ratio(own.beside.rows + 1));
    generation.speculated(drafted, accepted, plain);
  }
}

/// Drafts what was chosen.
fn make_drafts<D: Decoder, K: Sink>(
  decoder: &mut D,
  requests: &mut Requests<D::Sampler, K>,
  cache: &KvCache,
  rows: &mut [Row],
) {
  let mut wanting = Vec::new();
  for (index, row) in rows.iter_mut().enumerate() {
    let Some(running) = requests.get_mut(row.slot) else { continue };
    let Some(own) = &mut running.speculating else { continue };
    let most = match own.choice {
      Choice::Plain => continue,
      Choice::Probe => 1,
      Choice::Draft(window) => window,
    };
    row.draft.probe = own.choice == Choice::Probe;
    match &mut own.ngram {
      // Media repeat nothing.
      Some(ngram) => row.draft.tokens = ngram.draft(running.generation.history.tail(), most),
      None => wanting.push((index, most)),
    }
  }
  if wanting.is_empty() {
    return;
  }
  let wanted: Vec<_> = wanting
    .iter()
    .filter_map(|&(index, most)| {
      let slot = rows[index].slot;
      let generation = &requests.get(slot)?.generation;
      let (sequence, draw) = (cache.id(slot), generation.draw());
      Some(DraftRequest { sequence, history: &generation.history, most, draw })
    })
    .collect();
  let drafts = decoder.draft(&wanted);
  let drawn: Vec<_> = wanted.iter().map(|request| request.draw.is_some()).collect();
  for (((index, _), draft), drawn) in wanting.into_iter().zip(drafts).zip(drawn) {
    rows[index].draft.tokens = draft;
    rows[index].draft.drawn = drawn;
  }
}
