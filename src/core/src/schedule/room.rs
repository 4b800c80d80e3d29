//! Who may use the KV cache, whose cells all sequences share.
//!
//! Each request may fill the whole context, so the running ones together can need more than there is. Then the more
//! urgent and older ones go on and another loses its cells. It comes back once there is room, from a snapshot or by being
//! evaluated again, which changes nothing of its output. Tokens that were kept for later requests go first.

use std::cmp::Reverse;

use super::Scheduler;
use super::cells::distinct;
use crate::decoder::Decoder;
use crate::generate::Sink;
use crate::options::Lane;

/// A request enters the cache only if this fraction of the context stays free for the ones before it to grow: it would be
/// thrown out again after a few tokens otherwise.
const MARGIN: usize = 16;

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// The slots of `ready` (the most urgent request first) whose histories have room in the KV cache, after making that
  /// room.
  ///
  /// Never empty unless `ready` is: the first may take everything from all others.
  pub(super) fn make_room(&mut self, ready: &[usize]) -> Vec<usize> {
    let rank = |slot: usize| ready.iter().position(|&index| index == slot);
    let mut admitted = Vec::with_capacity(ready.len());
    for &slot in ready {
      if self.reserve(slot, &rank) {
        admitted.push(slot);
      }
    }
    admitted
  }

  /// Whether a request with `need` tokens and this rank finds room beside the running ones that go before it. Those that
  /// wait for their consumers do not: they give their room to others.
  pub(super) fn fits(&self, need: usize, rank: (Lane, u64)) -> bool {
    let before = |slot: &&super::Slot<D::Sampler, K>| {
      slot.running.as_ref().is_some_and(|running| running.ticket.rank() < rank && running.sink.ready())
    };
    let pending: usize =
      self.slots.iter().filter(before).map(|slot| slot.history() - slot.cached.len()).sum();
    let size = self.decoder.context_size();
    let used = distinct(self.slots.iter().filter(before).map(|slot| &slot.cells)) + pending;
    used == 0 || used + need + size / MARGIN <= size
  }

  /// Cells in use by the slots that `counts`, with room for the whole history of the resident ones and of `slot`.
  fn in_use(&self, slot: usize, counts: impl Fn(usize) -> bool) -> usize {
    let counted = || self.slots.iter().enumerate().filter(|&(index, _)| counts(index));
    let pending = counted().filter(|&(index, it)| index == slot || it.resident());
    let pending: usize = pending.map(|(_, it)| it.tail()).sum();
    distinct(counted().map(|(_, it)| &it.cells)) + pending
  }

  /// Sets room aside for the history of the request in `slot`; false if the ones before it leave too little.
  fn reserve(&mut self, slot: usize, rank: &impl Fn(usize) -> Option<usize>) -> bool {
    let size = self.decoder.context_size();
    let resident = self.slots[slot].resident();
    let first = rank(slot).unwrap_or(0) == 0;
    let victims = self.victims(slot, rank);
    let margin = if resident || first { 0 } else { size / MARGIN };
    if self.in_use(slot, |index| !victims.contains(&index)) + margin > size {
      return false;
    }
    for victim in victims {
      if self.in_use(slot, |_| true) <= size {
        break;
      }
      self.give_up(victim);
    }
    if let Some(running) = &mut self.slots[slot].running {
      running.resident = true;
    }
    if !resident {
      self.refill(slot);
    }
    true
  }

  /// Takes the cells of `slot`, after a snapshot of what nothing else holds.
  pub(super) fn give_up(&mut self, slot: usize) {
    self.demote(slot, 0);
    self.slots[slot].strip(&mut self.decoder);
  }

  /// Makes `count` cells free by taking those kept for later requests, the longest unused first; not those of `spared`.
  pub(super) fn free_cells(&mut self, count: usize, spared: &[usize]) -> bool {
    let size = self.decoder.context_size();
    let mut kept: Vec<_> = (0..self.slots.len())
      .filter(|index| {
        !spared.contains(index) && self.slots[*index].running.is_none() && self.slots[*index].held() > 0
      })
      .collect();
    kept.sort_by_key(|&index| Reverse(self.slots[index].used));
    while self.in_use(usize::MAX, |_| true) + count > size {
      let Some(index) = kept.pop() else { return false };
      self.give_up(index);
    }
    true
  }

  /// Slots that `slot` may take cells from, in the order in which that costs least: kept tokens of ended requests (the
  /// longest unused first), then requests that wait for their consumers, then less urgent ones (the last first).
  fn victims(&self, slot: usize, rank: &impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let own = rank(slot);
    let others = (0..self.slots.len()).filter(move |&index| index != slot);
    let mut victims: Vec<_> = others
      .filter(|&index| self.slots[index].held() > 0 && rank(index).is_none_or(|other| Some(other) > own))
      .collect();
    victims.sort_by_key(|&index| {
      let other = &self.slots[index];
      match &other.running {
        None => (0, other.used, None),
        Some(running) if rank(index).is_none() => (1, 0, Some(Reverse(running.ticket.rank()))),
        Some(running) => (2, 0, Some(Reverse(running.ticket.rank()))),
      }
    });
    victims
  }
}
