//! What is cached where: in the sequences of the context, whose cells all of them share, and as snapshots.

mod cells;
mod place;
mod room;
mod sequence;
mod snapshots;

use std::sync::Arc;

use super::queue::Rank;
use super::settings::Settings;
use crate::decoder::{Decode, KvMemory, Reach, SequenceId};
use crate::durable::Saved;
use crate::history::History;
use crate::prefix::PrefixStore;
use cells::distinct;
use sequence::{Claim, Sequence};

/// Shorter common beginnings (every prompt has the same first tokens) are not worth a copy.
const LEAST: usize = 8;
/// Of a sequence that is truncated or evicted, this many cells are worth a snapshot.
const WORTH_KEEPING: usize = 16;

/// What making room for a request did.
pub(super) struct Reserved {
  /// It has come into the cache with this.
  pub(super) newly: bool,
  /// The slots that were evicted for it.
  pub(super) evicted: Vec<usize>,
}

/// The sequences of a context, by slot, and the snapshots. A slot is free, or claimed by the request that runs in it.
pub(super) struct KvCache {
  sequences: Vec<Sequence>,
  store: PrefixStore,
  size: usize,
  reach: Reach,
  long_request: usize,
  lost: Vec<Arc<str>>,
}

impl KvCache {
  pub(super) fn new<D: Decode + KvMemory>(settings: &Settings, decoder: &D) -> Self {
    let sequences = (0..settings.parallel.max(1)).map(|id| Sequence::new(id.cast_signed()));
    Self {
      sequences: sequences.collect(),
      store: PrefixStore::new(settings.cache_bytes, decoder.reach()),
      size: decoder.context_size(),
      reach: decoder.reach(),
      long_request: settings.long_request,
      lost: Vec::new(),
    }
  }

  /// The sequence of a slot.
  pub(super) fn id(&self, slot: usize) -> SequenceId {
    self.sequences[slot].id()
  }

  /// What the KV cache holds of a slot.
  pub(super) fn cached(&self, slot: usize) -> &History {
    self.sequences[slot].cached()
  }

  /// Cells of the request in a slot that are still to be evaluated.
  pub(super) fn tail(&self, slot: usize) -> usize {
    self.sequences[slot].tail()
  }

  /// Cells in use.
  pub(super) fn used(&self) -> usize {
    distinct(self.sequences.iter().map(Sequence::cells))
  }

  /// Cells that no request has set aside.
  pub(super) fn room(&self) -> usize {
    self.size.saturating_sub(self.in_use(usize::MAX, |_| true))
  }

  /// Number and bytes of the snapshots.
  pub(super) fn snapshots(&self) -> (usize, usize) {
    (self.store.len(), self.store.bytes())
  }

  /// Conversations of which nothing is in memory any more, since the last call.
  pub(super) fn take_lost(&mut self) -> Vec<Arc<str>> {
    self.lost.append(&mut self.store.take_lost());
    std::mem::take(&mut self.lost)
  }

  /// Gives a free slot to a request with this rank, whose history has `length` cells.
  pub(super) fn claim(&mut self, slot: usize, rank: Rank, length: usize) {
    self.sequences[slot].claim = Some(Claim { rank, length, resident: false });
  }

  /// The history of the request in a slot has `length` cells now.
  pub(super) fn resize(&mut self, slot: usize, length: usize) {
    if let Some(claim) = &mut self.sequences[slot].claim {
      claim.length = length;
    }
  }

  /// The request in a slot has ended or is parked, in turn `turn`. What it has evaluated stays.
  pub(super) fn release(&mut self, slot: usize, turn: u64) {
    self.sequences[slot].claim = None;
    self.sequences[slot].used = turn;
  }

  /// The first `length` cells of `history` are evaluated, or about to be, in the sequence of a slot.
  pub(super) fn extend(&mut self, slot: usize, history: &History, length: usize) {
    self.sequences[slot].extend(history, length);
  }

  /// Drops all but the first `length` cells of a slot; all when the memory cannot go back that far.
  pub(super) fn truncate<D: KvMemory>(&mut self, decoder: &mut D, slot: usize, length: usize) {
    self.sequences[slot].truncate(decoder, length);
  }

  /// Drops what a slot holds and gives its room to others, with a snapshot of what nothing else has if `snapshot`.
  pub(super) fn evict<D: KvMemory>(&mut self, decoder: &mut D, slot: usize, snapshot: bool) {
    if snapshot {
      self.keep_snapshot(decoder, slot, 0);
    }
    self.sequences[slot].evict(decoder);
  }

  /// After an interrupted decode: finds out where the sequence of a slot really ends.
  pub(super) fn resynchronise<D: KvMemory>(&mut self, decoder: &mut D, slot: usize, cancelled: bool) {
    self.sequences[slot].resynchronise(decoder, cancelled);
  }

  /// Takes the cells `keep` to `end` out of the middle of a slot, or drops everything.
  pub(super) fn shift<D: KvMemory>(&mut self, decoder: &mut D, slot: usize, keep: usize, end: usize) {
    let alone = room::alone(&self.sequences, slot);
    self.sequences[slot].shift(decoder, alone, keep, end);
  }

  fn in_use(&self, slot: usize, counts: impl Fn(usize) -> bool) -> usize {
    room::in_use(&self.sequences, slot, counts)
  }

  /// Whether a request with `need` cells finds room beside those running ones that go `before` it.
  pub(super) fn fits(&self, need: usize, before: impl Fn(usize) -> bool) -> bool {
    let counted = || self.sequences.iter().enumerate().filter(|&(index, it)| !it.is_free() && before(index));
    let pending: usize = counted().map(|(_, it)| it.tail()).sum();
    let used = distinct(counted().map(|(_, it)| it.cells())) + pending;
    used == 0 || used + need + room::margin(self.size) <= self.size
  }

  /// Sets room aside for the history of the request in `slot`, which is one of `ready` (the most urgent first); `None` if
  /// the ones before it leave too little. The first may take everything from all others.
  pub(super) fn reserve<D: KvMemory>(
    &mut self,
    decoder: &mut D,
    slot: usize,
    ready: &[usize],
  ) -> Option<Reserved> {
    let resident = self.sequences[slot].is_resident();
    let first = ready.first() == Some(&slot);
    let victims = room::victims(&self.sequences, slot, ready);
    let margin = if resident || first { 0 } else { room::margin(self.size) };
    if self.in_use(slot, |index| !victims.contains(&index)) + margin > self.size {
      return None;
    }
    let mut evicted = Vec::new();
    for victim in victims {
      if self.in_use(slot, |_| true) <= self.size {
        break;
      }
      self.evict(decoder, victim, true);
      evicted.push(victim);
    }
    if let Some(claim) = &mut self.sequences[slot].claim {
      claim.resident = true;
    }
    Some(Reserved { newly: !resident, evicted })
  }

  /// Makes `count` cells free for `spared`, which holds nothing, by evicting free slots, the longest unused first.
  fn make_room<D: KvMemory>(&mut self, decoder: &mut D, count: usize, spared: usize) -> bool {
    let mut idle = room::idle(&self.sequences, spared);
    while self.in_use(usize::MAX, |index| index != spared) + count > self.size {
      let Some(index) = idle.pop() else { return false };
      self.evict(decoder, index, true);
    }
    true
  }

  /// Before a request that has to process `work` tokens in `slot`: evicts the other free slots when that is many, because
  /// every token attends to all occupied cells. Only for memory from whose snapshots any beginning can be taken, so that
  /// nothing is lost by it.
  pub(super) fn evict_idle<D: KvMemory>(&mut self, decoder: &mut D, slot: usize, work: usize) {
    if work < self.long_request || self.reach != Reach::Any || !self.store.enabled() {
      return;
    }
    for index in (0..self.sequences.len()).filter(|&index| index != slot) {
      if !self.sequences[index].is_free() || room::only_in(&self.sequences, index) < WORTH_KEEPING {
        continue;
      }
      self.keep_snapshot(decoder, index, 0);
      if self.store.covers(self.cached(index)) || self.held_elsewhere(index) {
        self.evict(decoder, index, false);
      }
    }
  }

  /// The request in a slot, which was just released, belonged to a conversation. Returns what is to be stored of it if
  /// `durable`. What serves no other request goes.
  pub(super) fn end<D: KvMemory>(
    &mut self,
    decoder: &mut D,
    slot: usize,
    conversation: Option<&Arc<str>>,
    durable: bool,
  ) -> Option<Saved> {
    let sequence = &mut self.sequences[slot];
    if sequence.is_private() {
      self.evict(decoder, slot, false);
      return None;
    }
    sequence.conversation = Some(Arc::clone(conversation?));
    if !durable || sequence.cached().is_empty() {
      return None;
    }
    let state = Arc::new(decoder.snapshot(sequence.id())?);
    let saved = Saved { history: sequence.cached().clone(), state };
    // It is there anyway: the slot needs no snapshot when it is overwritten.
    self.insert(&saved, conversation.cloned());
    Some(saved)
  }
}
