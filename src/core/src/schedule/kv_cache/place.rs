//! Where the beginning of a prompt comes from: what sequences hold, or snapshots.

use std::cmp::Reverse;

use super::{KvCache, LEAST};
use crate::decoder::KvMemory;
use crate::history::History;
use crate::prefix::Hit;

impl KvCache {
  /// Chooses a free slot and brings as much as possible of the first `limit` cells of `history` into its sequence. There
  /// must be a free slot.
  pub(in crate::schedule) fn place<D: KvMemory>(
    &mut self,
    decoder: &mut D,
    history: &History,
    limit: usize,
  ) -> usize {
    let live = (0..self.sequences.len())
      .map(|slot| (self.usable(decoder, slot, history, limit), self.sequences[slot].is_free(), Reverse(slot)))
      .max();
    let (most, free, Reverse(best)) = live.unwrap_or((0, true, Reverse(0)));
    let stored = self.store.longest(history, limit).filter(|hit| hit.usable > most && hit.usable >= LEAST);
    // Taken at once: what is stored from here on may push it out.
    if let Some((hit, state)) = stored.and_then(|hit| Some((hit, self.store.take(hit)?))) {
      let target = self.longest_unused(usize::MAX);
      self.evict(decoder, target, true);
      if self.make_room(decoder, hit.stored, target) && self.restore(decoder, target, history, hit, &state) {
        return target;
      }
      return self.truncate_to_shared(decoder, target, history, limit);
    }
    let alone = self.sequences.iter().filter(|sequence| sequence.is_free()).count() == 1;
    if free && (alone || self.worthwhile(best, most, history)) {
      return self.truncate_to_shared(decoder, best, history, limit);
    }
    let target = self.longest_unused(if most < LEAST { usize::MAX } else { best });
    if most < LEAST || target == best {
      return self.truncate_to_shared(decoder, target, history, limit);
    }
    self.evict(decoder, target, true);
    if let Ok([source, target]) = self.sequences.get_disjoint_mut([best, target]) {
      target.copy(decoder, source, most);
    }
    target
  }

  /// Cells of `history` that the sequence of a slot would give.
  fn usable<D: KvMemory>(&self, decoder: &D, slot: usize, history: &History, limit: usize) -> usize {
    let sequence = &self.sequences[slot];
    let cached = sequence.cached();
    let shared = cached.floor(cached.common_prefix(history).min(limit));
    let whole = shared == cached.len_cells();
    let possible = whole || decoder.can_truncate(sequence.id(), cached.position(shared));
    if sequence.is_private() || !possible { 0 } else { shared }
  }

  /// Whether a free slot should be truncated for a prompt that shares `shared` of its cells: a short common beginning is
  /// not worth another conversation's cache, so it counts only when it is half of the prompt or of what the slot holds.
  fn worthwhile(&self, slot: usize, shared: usize, history: &History) -> bool {
    shared > 0 && 2 * shared >= history.len_cells().min(self.cached(slot).len_cells())
  }

  /// The free slot that was longest unused, an empty one first; another than `except` if there is one.
  fn longest_unused(&self, except: usize) -> usize {
    let free = self.sequences.iter().enumerate().filter(|(_, sequence)| sequence.is_free());
    let oldest = free.min_by_key(|&(slot, it)| (slot == except, !it.cached().is_empty(), it.used, slot));
    oldest.map_or(0, |(slot, _)| slot)
  }

  /// Truncates a free slot to what it shares with `history`.
  fn truncate_to_shared<D: KvMemory>(
    &mut self,
    decoder: &mut D,
    slot: usize,
    history: &History,
    limit: usize,
  ) -> usize {
    let keep = self.usable(decoder, slot, history, limit);
    self.keep_snapshot(decoder, slot, keep);
    self.sequences[slot].conversation = None;
    self.truncate(decoder, slot, keep);
    slot
  }

  /// Restores a snapshot into an empty sequence and truncates it to what serves.
  fn restore<D: KvMemory>(
    &mut self,
    decoder: &mut D,
    slot: usize,
    history: &History,
    hit: Hit,
    state: &[u8],
  ) -> bool {
    let id = self.id(slot);
    if !decoder.restore(id, state) {
      return false;
    }
    if hit.usable < hit.stored && !decoder.truncate(id, history.position(hit.usable)) {
      decoder.truncate(id, 0);
      return false;
    }
    self.extend(slot, history, hit.usable);
    true
  }

  /// A request that has come back into the cache without its cells gets them from a snapshot, if there is one. Returns
  /// whether it was empty.
  pub(in crate::schedule) fn refill<D: KvMemory>(
    &mut self,
    decoder: &mut D,
    slot: usize,
    history: &History,
  ) -> bool {
    if !self.cached(slot).is_empty() {
      return false;
    }
    let hit = self.store.longest(history, history.len_cells() - 1).filter(|hit| hit.usable >= LEAST);
    if let Some((hit, state)) = hit.and_then(|hit| Some((hit, self.store.take(hit)?)))
      && self.make_room(decoder, hit.stored, slot)
    {
      self.restore(decoder, slot, history, hit, &state);
    }
    true
  }
}
