//! What goes into the next batch.

use super::Scheduler;
use super::speculation::Draft;
use crate::decoder::Decoder;
use crate::generate::Sink;
use crate::options::Lane;

/// Part of a batch that prefill takes beside requests of a more urgent lane: they go on nearly as fast as alone.
const BESIDE_MORE_URGENT: usize = 16;
/// Part of a batch that prefill takes beside streams of its own lane. Small batches cost a CPU no throughput
/// (docs/concurrency.md), and the streams get a token with each.
const BESIDE_STREAMS: usize = 8;
/// Part of a batch that background prefill takes otherwise: a request that comes meanwhile waits no longer than for that.
const IN_BACKGROUND: usize = 16;

/// Row of the batch whose logits belong to the request in slot `slot`.
pub(super) struct Row {
  pub(super) slot: usize,
  pub(super) index: usize,
  /// What was drafted to follow it.
  pub(super) draft: Draft,
}

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// Slots whose sinks take another piece, the most urgent request first.
  pub(super) fn ready(&self) -> Vec<usize> {
    let mut ready: Vec<_> = self
      .slots
      .iter()
      .enumerate()
      .filter_map(|(index, slot)| slot.running.as_ref().map(|running| (running, index)))
      .filter(|(running, _)| running.sink.ready())
      .map(|(running, index)| (running.ticket.rank(), index))
      .collect();
    ready.sort_unstable();
    ready.into_iter().map(|(_, index)| index).collect()
  }

  /// Puts the next tokens of the requests in `slots` (the most urgent first) into the batch. Returns the rows to sample
  /// from.
  pub(super) fn fill_batch(&mut self, slots: &[usize]) -> Vec<Row> {
    self.batch.clear();
    let mut rows = Vec::new();
    for (slot, count) in self.shares(slots) {
      if self.slots[slot].push(count, &mut self.batch) {
        rows.push(Row { slot, index: self.batch.len() - 1, draft: Draft::default() });
      }
    }
    rows
  }

  /// Tokens of each slot: one each, so that a long prefill never stalls a stream, and the rest of the batch for prefill,
  /// the most urgent request first. A batch smaller than the number of requests goes round.
  fn shares(&mut self, slots: &[usize]) -> Vec<(usize, usize)> {
    let size = self.decoder.batch_size();
    let turn = |index: usize| self.slots[index].running.as_ref().map_or(0, |running| running.turn);
    let mut chosen = slots.to_vec();
    chosen.sort_by_key(|&index| turn(index));
    chosen.truncate(size);
    for &index in &chosen {
      self.turns += 1;
      if let Some(running) = &mut self.slots[index].running {
        running.turn = self.turns;
      }
    }
    let most_urgent_first: Vec<_> = slots.iter().copied().filter(|slot| chosen.contains(slot)).collect();
    let (mut room, mut given) = (size - chosen.len(), 0);
    let share = |&index: &usize| {
      let left = self.allowance(index, &chosen, size).saturating_sub(given);
      let more = room.min(left).min(self.slots[index].tail().saturating_sub(1));
      room -= more;
      given += more;
      (index, 1 + more)
    };
    most_urgent_first.iter().map(share).collect()
  }

  /// Most tokens of prefill that a batch with the requests of `chosen` holds once that of slot `index` is in it.
  fn allowance(&self, index: usize, chosen: &[usize], size: usize) -> usize {
    let Some(own) = self.slots[index].running.as_ref().map(|running| running.ticket.lane()) else { return 0 };
    let others = || {
      chosen.iter().filter(|&&other| other != index).filter_map(|&other| self.slots[other].running.as_ref())
    };
    let part = if others().any(|other| other.ticket.lane() < own) {
      BESIDE_MORE_URGENT
    } else if others().any(|other| other.ticket.lane() == own && other.generation.answers()) {
      BESIDE_STREAMS
    } else if own == Lane::Background {
      IN_BACKGROUND
    } else {
      1
    };
    size.div_ceil(part)
  }
}
