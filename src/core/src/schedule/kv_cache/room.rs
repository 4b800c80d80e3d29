//! Whose cells of the KV cache a request may take.
//!
//! Each request may fill the whole context, so the running ones together can need more than there is. Then the more
//! urgent and older ones go on and another loses its cells. It comes back once there is room, from a snapshot or by being
//! evaluated again, which changes nothing of its output. Cells that are cached for later requests go first.

use std::cmp::Reverse;

use super::cells::{Cells, distinct};
use super::sequence::Sequence;

/// A request enters the cache only if this fraction of the context stays free for the ones before it to grow: it would be
/// evicted again after a few tokens otherwise.
const MARGIN: usize = 16;

/// Cells that a request leaves free when it enters a context of `size`.
pub(super) fn margin(size: usize) -> usize {
  size / MARGIN
}

/// Cells in use by the sequences that `counts`, with room for the whole history of the resident ones and of `slot`.
pub(super) fn in_use(sequences: &[Sequence], slot: usize, counts: impl Fn(usize) -> bool) -> usize {
  let counted = || sequences.iter().enumerate().filter(|&(index, _)| counts(index));
  let pending = counted().filter(|&(index, it)| index == slot || it.is_resident());
  let pending: usize = pending.map(|(_, it)| it.tail()).sum();
  distinct(counted().map(|(_, it)| it.cells())) + pending
}

/// Cells that only `slot` uses.
pub(super) fn only_in(sequences: &[Sequence], slot: usize) -> usize {
  let others = sequences.iter().enumerate().filter(|&(index, _)| index != slot);
  distinct(sequences.iter().map(Sequence::cells)) - distinct(others.map(|(_, it)| it.cells()))
}

/// Whether `slot` shares no cell with another sequence.
pub(super) fn alone(sequences: &[Sequence], slot: usize) -> bool {
  let others = sequences.iter().enumerate().filter(|&(index, _)| index != slot);
  let own: &Cells = sequences[slot].cells();
  others.into_iter().all(|(_, other)| !other.cells().overlaps(own))
}

/// Slots that `slot` may take cells from, in the order in which that costs least: cells of ended requests (the longest
/// unused first), then requests that wait for their consumers, then less urgent ones (the last first). `ready` are the
/// others, the most urgent first.
pub(super) fn victims(sequences: &[Sequence], slot: usize, ready: &[usize]) -> Vec<usize> {
  let place = |slot: usize| ready.iter().position(|&index| index == slot);
  let own = place(slot);
  let others = (0..sequences.len()).filter(move |&index| index != slot);
  let mut victims: Vec<_> = others
    .filter(|&index| sequences[index].held() > 0 && place(index).is_none_or(|other| Some(other) > own))
    .collect();
  victims.sort_by_key(|&index| {
    let other = &sequences[index];
    match &other.claim {
      None => (0, other.used, None),
      Some(claim) if place(index).is_none() => (1, 0, Some(Reverse(claim.rank))),
      Some(claim) => (2, 0, Some(Reverse(claim.rank))),
    }
  });
  victims
}

/// Slots whose cells are cached for later requests, the longest unused last; not `spared`.
pub(super) fn idle(sequences: &[Sequence], spared: usize) -> Vec<usize> {
  let mut idle: Vec<_> = (0..sequences.len())
    .filter(|&index| index != spared && sequences[index].is_free() && sequences[index].held() > 0)
    .collect();
  idle.sort_by_key(|&index| Reverse(sequences[index].used));
  idle
}
