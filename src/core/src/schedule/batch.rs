//! What goes into the next batch.

use super::draft::{Draft, Row};
use super::kv_cache::KvCache;
use super::requests::{Requests, Running};
use crate::decoder::{BatchToken, MediaPlace, Token};
use crate::generate::Sink;
use crate::history::Stretch;

/// The tokens of the next decode.
#[derive(Debug, Default)]
pub(super) struct Batch {
  tokens: Vec<BatchToken>,
  /// The slots that they belong to.
  slots: Vec<usize>,
}

impl Batch {
  pub(super) fn tokens(&self) -> &[BatchToken] {
    &self.tokens
  }

  pub(super) fn slots(&self) -> &[usize] {
    &self.slots
  }

  /// Whether a token is sampled after every row: there is no prefill in it.
  pub(super) fn is_plain(&self) -> bool {
    self.tokens.iter().all(|token| token.logits)
  }

  /// Puts the next tokens of the requests in `shares` (slots, and the most tokens of each) into the batch, fewer if
  /// media come before or a snapshot is due. Returns the rows to sample from.
  pub(super) fn fill<S, K: Sink>(
    &mut self,
    shares: &[(usize, usize)],
    requests: &mut Requests<S, K>,
    cache: &mut KvCache,
  ) -> Vec<Row> {
    self.tokens.clear();
    self.slots.clear();
    let mut rows = Vec::new();
    for &(slot, count) in shares {
      let Some(running) = requests.get_mut(slot) else { continue };
      let before = self.tokens.len();
      if self.push(running, slot, count, cache) {
        rows.push(Row { slot, index: self.tokens.len() - 1, draft: Draft::default() });
      }
      if self.tokens.len() > before {
        self.slots.push(slot);
      }
    }
    rows
  }

  /// Adds the next `count` tokens of a request. Returns whether these are its last ones, after which one is sampled.
  fn push<S, K>(
    &mut self,
    running: &mut Running<S, K>,
    slot: usize,
    count: usize,
    cache: &mut KvCache,
  ) -> bool {
    let history = &running.generation.history;
    let from = cache.cached(slot).len_cells();
    let Some(Stretch::Text(text)) = history.after(from).next() else { return false };
    let due = running.checkpoints.iter().copied().find(|&at| at > from).unwrap_or(usize::MAX);
    let to = from + text.len().min(count).min(due - from);
    let (sequence, first) = (cache.id(slot), history.position(from));
    for (index, &token) in text[..to - from].iter().enumerate() {
      let logits = from + index + 1 == history.len_cells();
      self.tokens.push(BatchToken { token, position: position(first + index), sequence, logits });
    }
    cache.extend(slot, history, to);
    running.begun = true;
    to == history.len_cells()
  }

  /// Adds drafted tokens to a batch that [is plain](Self::is_plain): after each of the others, in their order, those
  /// that `drafts` gives. Returns where each of the others is now.
  pub(super) fn interleave<'a>(&mut self, drafts: impl Iterator<Item = (usize, &'a [Token])>) -> Vec<usize> {
    let newest = std::mem::take(&mut self.tokens);
    let mut rows = Vec::with_capacity(newest.len());
    for (newest, (first, draft)) in newest.into_iter().zip(drafts) {
      rows.push(self.tokens.len());
      self.tokens.push(newest);
      for (index, &token) in draft.iter().enumerate() {
        let sequence = newest.sequence;
        self.tokens.push(BatchToken { token, position: position(first + index), sequence, logits: true });
      }
    }
    rows
  }
}

/// The media that a request has to evaluate next, if it has.
pub(super) fn next_media<S, K>(running: &Running<S, K>, slot: usize, cache: &KvCache) -> Option<MediaPlace> {
  let history = &running.generation.history;
  let cached = cache.cached(slot).len_cells();
  let Some(Stretch::Media(media)) = history.after(cached).next() else { return None };
  Some(MediaPlace { media, position: position(history.position(cached)), sequence: cache.id(slot) })
}

/// A position as llama.cpp counts: contexts end long before the numbers do.
fn position(position: usize) -> i32 {
  i32::try_from(position).unwrap_or(i32::MAX)
}
