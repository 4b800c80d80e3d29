//! What goes into the next batch.

use super::Scheduler;
use crate::decoder::Decoder;
use crate::generate::Sink;

/// Row of the batch whose logits belong to the request in slot `slot`.
pub(super) struct Row {
  pub(super) slot: usize,
  pub(super) index: usize,
}

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// Slots whose sinks take another piece, the oldest request first.
  pub(super) fn ready(&self) -> Vec<usize> {
    let mut ready: Vec<_> = self
      .slots
      .iter()
      .enumerate()
      .filter_map(|(index, slot)| slot.running.as_ref().map(|running| (running, index)))
      .filter(|(running, _)| running.sink.ready())
      .map(|(running, index)| (running.order, index))
      .collect();
    ready.sort_unstable();
    ready.into_iter().map(|(_, index)| index).collect()
  }

  /// Puts the next tokens of the requests in `slots` (oldest first) into the batch. Returns the rows to sample from.
  pub(super) fn fill_batch(&mut self, slots: &[usize]) -> Vec<Row> {
    self.batch.clear();
    let mut rows = Vec::new();
    for (slot, count) in self.shares(slots) {
      if self.slots[slot].push(count, &mut self.batch) {
        rows.push(Row { slot, index: self.batch.len() - 1 });
      }
    }
    rows
  }

  /// Tokens of each slot: one each, so that a long prefill never stalls a stream, and the rest of the batch for prefill,
  /// the oldest request first. A batch smaller than the number of requests goes round.
  fn shares(&mut self, slots: &[usize]) -> Vec<(usize, usize)> {
    let mut room = self.decoder.batch_size();
    let turn = |index: usize| self.slots[index].running.as_ref().map_or(0, |running| running.turn);
    let mut chosen = slots.to_vec();
    chosen.sort_by_key(|&index| turn(index));
    chosen.truncate(room);
    room -= chosen.len();
    for &index in &chosen {
      self.turns += 1;
      if let Some(running) = &mut self.slots[index].running {
        running.turn = self.turns;
      }
    }
    let oldest_first = slots.iter().filter(|slot| chosen.contains(slot));
    oldest_first
      .map(|&index| {
        let more = room.min(self.slots[index].tail().saturating_sub(1));
        room -= more;
        (index, 1 + more)
      })
      .collect()
  }
}
