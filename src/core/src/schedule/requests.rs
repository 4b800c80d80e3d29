//! Requests that have started: those that run in a slot, and those that are parked.

use super::draft::Speculating;
use super::queue::{Queue, Ticket};
use crate::cancel::CancelToken;
use crate::generate::{Event, FinishReason, Finished, Generation, Sink};
use crate::options::Lane;

/// Part of a batch that prefill takes beside requests of a more urgent lane: they go on nearly as fast as alone.
const BESIDE_MORE_URGENT: usize = 16;
/// Part of a batch that prefill takes beside streams of its own lane. Small batches cost a CPU no throughput
/// (docs/concurrency.md), and the streams get a token with each.
const BESIDE_STREAMS: usize = 8;
/// Part of a batch that background prefill takes otherwise: a request that comes meanwhile waits no longer than for that.
const IN_BACKGROUND: usize = 16;

/// A request that has started.
pub(super) struct Running<S, K> {
  pub(super) generation: Generation<S>,
  pub(super) sink: K,
  /// Its claim to a place.
  pub(super) ticket: Ticket,
  /// When it last had a share in a batch, counted in shares; before the first, when it started.
  pub(super) turn: u64,
  /// A part of it was evaluated.
  pub(super) begun: bool,
  /// Lengths of the history at which a snapshot is taken, the shortest first.
  pub(super) checkpoints: Vec<usize>,
  /// Choice of its drafts, if it has any.
  pub(super) speculating: Option<Speculating>,
}

impl<S, K: Sink> Running<S, K> {
  /// Sends the rest of the text. Returns the last word, which is still to be said.
  pub(super) fn finish(self, reason: FinishReason) -> (K, Finished) {
    let Self { generation, mut sink, .. } = self;
    let (piece, finished) = generation.finish(reason);
    if !piece.text.is_empty() || !piece.reasoning.is_empty() {
      sink.send(Event::Piece(piece));
    }
    (sink, finished)
  }
}

/// A request that could start.
#[derive(Clone, Copy)]
pub(super) enum Candidate {
  /// Place among the waiting ones.
  Waiting(usize),
  /// Place among the parked ones.
  Parked(usize),
}

/// Requests by slot, and those that gave theirs away.
pub(super) struct Requests<S, K> {
  slots: Vec<Option<Running<S, K>>>,
  parked: Vec<Running<S, K>>,
  /// Shares of batches that were given out.
  turns: u64,
}

impl<S, K: Sink> Requests<S, K> {
  pub(super) fn new(parallel: u32) -> Self {
    Self { slots: (0..parallel.max(1)).map(|_| None).collect(), parked: Vec::new(), turns: 0 }
  }

  pub(super) fn get(&self, slot: usize) -> Option<&Running<S, K>> {
    self.slots[slot].as_ref()
  }

  pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut Running<S, K>> {
    self.slots[slot].as_mut()
  }

  /// Takes a request that ends out of its slot.
  pub(super) fn remove(&mut self, slot: usize) -> Option<Running<S, K>> {
    self.slots[slot].take()
  }

  /// Puts a request into a free slot.
  pub(super) fn insert(&mut self, slot: usize, running: Running<S, K>) {
    self.slots[slot] = Some(Running { turn: self.turns, ..running });
  }

  /// Number of slots.
  pub(super) fn slots(&self) -> usize {
    self.slots.len()
  }

  /// The running ones by slot.
  pub(super) fn running(&self) -> impl Iterator<Item = (usize, &Running<S, K>)> + Clone {
    self.slots.iter().enumerate().filter_map(|(slot, running)| Some((slot, running.as_ref()?)))
  }

  /// Number of those that are parked.
  pub(super) fn parked(&self) -> usize {
    self.parked.len()
  }

  /// Takes out every parked one for which `ends`.
  pub(super) fn take_parked(&mut self, ends: impl Fn(&Running<S, K>) -> bool) -> Vec<Running<S, K>> {
    self.parked.extract_if(.., |running| ends(running)).collect()
  }

  /// Moves the request out of a slot. Returns when it last had a share.
  pub(super) fn park(&mut self, slot: usize) -> Option<u64> {
    let running = self.slots[slot].take()?;
    let turn = running.turn;
    self.parked.push(running);
    Some(turn)
  }

  /// Takes a parked one out.
  pub(super) fn unpark(&mut self, index: usize) -> Running<S, K> {
    self.parked.remove(index)
  }

  /// The most urgent request that could start, and its cells.
  pub(super) fn next(&self, queue: &Queue<K>) -> Option<(Candidate, Ticket, usize)> {
    let waiting = queue.waiting.iter().enumerate();
    let waiting =
      waiting.map(|(index, it)| (Candidate::Waiting(index), it.ticket, it.request.prompt.len_cells()));
    let parked = self.parked.iter().enumerate().filter(|(_, it)| it.sink.ready());
    let parked =
      parked.map(|(index, it)| (Candidate::Parked(index), it.ticket, it.generation.history.len_cells()));
    waiting.chain(parked).min_by_key(|(_, ticket, _)| ticket.rank())
  }

  /// The running request that gives its sequence to a waiting one: the last whose consumer does not read, or else the
  /// last background request if the waiting one is of another lane.
  pub(super) fn giving_way(&self, ticket: &Ticket) -> Option<usize> {
    let blocked = self.running().filter(|(_, it)| !it.sink.ready());
    let yielding = self.running().filter(|(_, it)| it.ticket.yields_to(ticket));
    let last = blocked.max_by_key(|(_, it)| it.ticket.rank());
    last.or_else(|| yielding.max_by_key(|(_, it)| it.ticket.rank())).map(|(slot, _)| slot)
  }

  /// Notes for every older request that waits or is parked that this one goes before it.
  pub(super) fn overtake(&mut self, queue: &mut Queue<K>, started: &Ticket) {
    let waiting = queue.waiting.iter_mut().map(|it| &mut it.ticket);
    let others = waiting.chain(self.parked.iter_mut().map(|it| &mut it.ticket));
    for ticket in others.filter(|ticket| ticket.order < started.order) {
      ticket.overtaken += 1;
    }
  }

  /// Slots with a cancelled request.
  pub(super) fn cancelled(&self) -> impl Iterator<Item = usize> + use<S, K> {
    let cancelled = self.running().filter(|(_, it)| CancelToken::is_cancelled(&it.generation.cancel));
    cancelled.map(|(slot, _)| slot).collect::<Vec<_>>().into_iter()
  }

  /// Slots whose sinks take another piece, the most urgent request first.
  pub(super) fn ready(&self) -> Vec<usize> {
    let ready = self.running().filter(|(_, running)| running.sink.ready());
    let mut ready: Vec<_> = ready.map(|(slot, running)| (running.ticket.rank(), slot)).collect();
    ready.sort_unstable();
    ready.into_iter().map(|(_, slot)| slot).collect()
  }

  /// Tokens of a batch of `size` for each of `slots` (the most urgent request first): one each, so that a long prefill
  /// never stalls a stream, and the rest for prefill, the most urgent request first. A batch smaller than the number of
  /// requests goes round. `tail` gives the cells of a slot that are still to be evaluated.
  pub(super) fn shares(
    &mut self,
    slots: &[usize],
    size: usize,
    tail: impl Fn(usize) -> usize,
  ) -> Vec<(usize, usize)> {
    let turn = |slot: usize| self.get(slot).map_or(0, |running| running.turn);
    let mut chosen = slots.to_vec();
    chosen.sort_by_key(|&slot| turn(slot));
    chosen.truncate(size);
    for &slot in &chosen {
      self.turns += 1;
      if let Some(running) = &mut self.slots[slot] {
        running.turn = self.turns;
      }
    }
    let most_urgent_first: Vec<_> = slots.iter().copied().filter(|slot| chosen.contains(slot)).collect();
    let (mut room, mut given) = (size - chosen.len(), 0);
    let share = |&slot: &usize| {
      let left = self.allowance(slot, &chosen, size).saturating_sub(given);
      let more = room.min(left).min(tail(slot).saturating_sub(1));
      room -= more;
      given += more;
      (slot, 1 + more)
    };
    most_urgent_first.iter().map(share).collect()
  }

  /// Most tokens of prefill that a batch with the requests of `chosen` holds once that of a slot is in it.
  fn allowance(&self, slot: usize, chosen: &[usize], size: usize) -> usize {
    let Some(own) = self.get(slot).map(|running| running.ticket.lane()) else { return 0 };
    let others = || chosen.iter().filter(|&&other| other != slot).filter_map(|&other| self.get(other));
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
