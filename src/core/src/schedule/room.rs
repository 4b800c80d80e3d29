//! Who may use the KV cache, whose cells all sequences share.
//!
//! Each request may fill the whole context, so the running ones together can need more than there is. Then the older
//! ones go on and a younger one loses its cells; it is evaluated again once there is room, which costs time and changes
//! nothing of its output. Tokens that were kept for later requests go first.

use std::cmp::Reverse;

use super::Scheduler;
use crate::decoder::Decoder;
use crate::generate::Sink;

/// A request enters the cache only if this fraction of the context stays free for the older ones to grow: it would be
/// thrown out again after a few tokens otherwise.
const MARGIN: usize = 16;

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// The slots of `ready` (oldest request first) whose histories have room in the KV cache, after making that room.
  ///
  /// Never empty unless `ready` is: the oldest may take everything from all others.
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

  /// Sets room aside for the history of the request in `slot`; false if older requests leave too little.
  fn reserve(&mut self, slot: usize, rank: &impl Fn(usize) -> Option<usize>) -> bool {
    let size = self.decoder.context_size();
    let need = self.slots[slot].history();
    let resident = self.slots[slot].running.as_ref().is_some_and(|running| running.resident);
    let older = rank(slot).unwrap_or(0);
    let others: usize = self.others(slot).map(|index| self.slots[index].held()).sum();
    let victims = self.victims(slot, rank);
    let firm = others - victims.iter().map(|&index| self.slots[index].held()).sum::<usize>();
    let margin = if resident || older == 0 { 0 } else { size / MARGIN };
    if firm + need + margin > size {
      return false;
    }
    let mut excess = (others + need).saturating_sub(size);
    for victim in victims {
      if excess == 0 {
        break;
      }
      excess = excess.saturating_sub(self.slots[victim].held());
      self.slots[victim].strip(&mut self.decoder);
    }
    if let Some(running) = &mut self.slots[slot].running {
      running.resident = true;
    }
    true
  }

  /// Slots that `slot` may take cells from, in the order in which that costs least: kept tokens of ended requests (the
  /// longest unused first), then requests that wait for their consumers, then younger ones (the youngest first).
  fn victims(&self, slot: usize, rank: &impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let own = rank(slot);
    let mut victims: Vec<_> = self
      .others(slot)
      .filter(|&index| self.slots[index].held() > 0 && rank(index).is_none_or(|other| Some(other) > own))
      .collect();
    victims.sort_by_key(|&index| {
      let other = &self.slots[index];
      match &other.running {
        None => (0, other.used, Reverse(0)),
        Some(running) if rank(index).is_none() => (1, 0, Reverse(running.order)),
        Some(running) => (2, 0, Reverse(running.order)),
      }
    });
    victims
  }

  fn others(&self, slot: usize) -> impl Iterator<Item = usize> + use<D, K> {
    (0..self.slots.len()).filter(move |&index| index != slot)
  }
}
