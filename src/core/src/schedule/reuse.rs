//! Where the beginning of a prompt comes from: the tokens that sequences hold, or snapshots.

use std::cmp::Reverse;
use std::sync::Arc;

use super::cells::distinct;
use super::{Scheduler, Slot};
use crate::decoder::{Decoder, Reach, Token};
use crate::generate::Sink;
use crate::prefix::{Hit, Label};

/// Shorter common beginnings (every prompt has the same first tokens) are not worth a copy.
const LEAST: usize = 8;
/// Of a sequence that is cut back, overwritten or set aside, this many tokens are worth a snapshot.
const WORTH_KEEPING: usize = 16;

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// Chooses a free slot and brings as much as possible of the first `limit` of `tokens` into its sequence. There must be
  /// a free slot.
  pub(super) fn place(&mut self, tokens: &[Token], limit: usize) -> usize {
    let live = (0..self.slots.len())
      .map(|index| (self.usable(index, tokens, limit), self.slots[index].running.is_none(), Reverse(index)))
      .max();
    let (most, free, Reverse(best)) = live.unwrap_or((0, true, Reverse(0)));
    let stored = self.store.longest(tokens, limit).filter(|hit| hit.usable > most && hit.usable >= LEAST);
    // Taken at once: what is stored from here on may push it out.
    if let Some((hit, state)) = stored.and_then(|hit| Some((hit, self.store.take(hit)?))) {
      let target = self.longest_unused(usize::MAX);
      self.empty(target);
      if self.free_cells(hit.stored, &[target]) && self.restore(target, tokens, hit, &state) {
        return target;
      }
      return self.adapt(target, tokens, limit);
    }
    let alone = self.slots.iter().filter(|slot| slot.running.is_none()).count() == 1;
    if free && (alone || self.worthwhile(best, most, tokens)) {
      return self.adapt(best, tokens, limit);
    }
    let target = self.longest_unused(if most < LEAST { usize::MAX } else { best });
    if most < LEAST || target == best {
      return self.adapt(target, tokens, limit);
    }
    self.empty(target);
    self.copy(best, target, most);
    target
  }

  /// Tokens of `tokens` that the sequence of a slot would give.
  fn usable(&self, index: usize, tokens: &[Token], limit: usize) -> usize {
    let slot = &self.slots[index];
    let shared = common_prefix(&slot.cached, tokens).min(limit);
    let whole = shared == slot.cached.len();
    if slot.private || !(whole || self.decoder.can_rewind(slot.sequence, shared)) { 0 } else { shared }
  }

  /// Whether a free slot should be cut back for a prompt that shares `shared` of its tokens: a short common beginning is
  /// not worth another conversation's cache, so it counts only when it is half of the prompt or of what the slot holds.
  fn worthwhile(&self, index: usize, shared: usize, tokens: &[Token]) -> bool {
    shared > 0 && 2 * shared >= tokens.len().min(self.slots[index].cached.len())
  }

  /// The free slot that was longest unused, an empty one first; another than `except` if there is one.
  fn longest_unused(&self, except: usize) -> usize {
    let free = self.slots.iter().enumerate().filter(|(_, slot)| slot.running.is_none());
    let oldest =
      free.min_by_key(|&(index, slot)| (index == except, !slot.cached.is_empty(), slot.used, index));
    oldest.map_or(0, |(index, _)| index)
  }

  /// Cuts a free slot back to what it shares with `tokens`.
  fn adapt(&mut self, index: usize, tokens: &[Token], limit: usize) -> usize {
    let keep = self.usable(index, tokens, limit);
    self.demote(index, keep);
    let slot = &mut self.slots[index];
    slot.conversation = None;
    slot.rewind(&mut self.decoder, keep);
    index
  }

  fn empty(&mut self, index: usize) {
    self.demote(index, 0);
    self.slots[index].clear(&mut self.decoder);
  }

  fn copy(&mut self, from: usize, to: usize, length: usize) {
    let [source, target] = self.slots.get_disjoint_mut([from, to]).expect("two different slots");
    if self.decoder.copy(source.sequence, target.sequence, length) {
      target.cached.extend_from_slice(&source.cached[..length]);
      target.cells.share(&mut source.cells, length);
    }
  }

  /// Restores a snapshot into an empty sequence and cuts it back to what serves.
  fn restore(&mut self, index: usize, tokens: &[Token], hit: Hit, state: &[u8]) -> bool {
    let slot = &mut self.slots[index];
    if !self.decoder.restore(slot.sequence, state) {
      return false;
    }
    if hit.usable < hit.stored && !self.decoder.rewind(slot.sequence, hit.usable) {
      self.decoder.clear(slot.sequence);
      return false;
    }
    slot.cached.extend_from_slice(&tokens[..hit.usable]);
    slot.cells.grow(hit.usable);
    true
  }

  /// A request that has come back into the cache without its tokens gets them from a snapshot, if there is one.
  pub(super) fn refill(&mut self, index: usize) {
    if !self.slots[index].cached.is_empty() {
      return;
    }
    let Some(running) = &mut self.slots[index].running else { return };
    let history = std::mem::take(&mut running.generation.history);
    let hit = self.store.longest(&history, history.len() - 1).filter(|hit| hit.usable >= LEAST);
    if let Some((hit, state)) = hit.and_then(|hit| Some((hit, self.store.take(hit)?)))
      && self.free_cells(hit.stored, &[index])
    {
      self.restore(index, &history, hit, &state);
    }
    let slot = &mut self.slots[index];
    if let Some(running) = &mut slot.running {
      running.generation.history = history;
      if !running.begun {
        running.generation.gain_cache(slot.cached.len());
      }
    }
  }

  /// Keeps a snapshot of a slot's tokens that are about to go, all but the first `keep`, if nothing else has them.
  pub(super) fn demote(&mut self, index: usize, keep: usize) {
    let Slot { cached, private, conversation, .. } = &self.slots[index];
    if *private || cached.len() < keep + WORTH_KEEPING || self.held_elsewhere(index) {
      return;
    }
    let conversation = conversation.clone();
    if !self.store.covers(cached)
      && !self.snapshot(index, Label { pinned: false, conversation: conversation.clone() })
    {
      self.lost.extend(conversation);
    }
  }

  /// Moves the tokens that other free sequences keep out of the KV cache, where every decode looks at them, into the
  /// store. Only for memory from whose snapshots any beginning can be taken, so that nothing is lost by it.
  pub(super) fn set_aside(&mut self, slot: usize) {
    if self.decoder.reach() != Reach::Any || !self.store.enabled() {
      return;
    }
    for index in (0..self.slots.len()).filter(|&index| index != slot) {
      let other = &self.slots[index];
      if other.running.is_some() || self.only_here(index) < WORTH_KEEPING {
        continue;
      }
      self.demote(index, 0);
      if self.store.covers(&self.slots[index].cached) || self.held_elsewhere(index) {
        self.slots[index].clear(&mut self.decoder);
      }
    }
  }

  /// Cells that only this slot uses.
  fn only_here(&self, index: usize) -> usize {
    let all = |except| {
      let counted = self.slots.iter().enumerate().filter(move |&(other, _)| Some(other) != except);
      distinct(counted.map(|(_, slot)| &slot.cells))
    };
    all(None) - all(Some(index))
  }

  fn held_elsewhere(&self, index: usize) -> bool {
    let others = self.slots.iter().enumerate().filter(|(other, slot)| *other != index && !slot.private);
    let reach = self.decoder.reach();
    let whole =
      |slot: &Slot<D::Sampler, K>| reach == Reach::Any || slot.cached.len() == self.slots[index].cached.len();
    others.into_iter().any(|(_, slot)| whole(slot) && slot.cached.starts_with(&self.slots[index].cached))
  }

  /// Stores a snapshot of what the sequence of a slot holds.
  pub(super) fn snapshot(&mut self, index: usize, label: Label) -> bool {
    let slot = &self.slots[index];
    if !self.store.enabled() {
      return false;
    }
    let Some(state) = self.decoder.snapshot(slot.sequence) else { return false };
    self.store.insert(&slot.cached, Arc::new(state), label)
  }

  /// Lengths of a prompt at which snapshots are taken while it is evaluated. Memory that can go back needs none. Otherwise
  /// they are where this prompt branches off from others, and where a repetition can start: at its end if a snapshot can
  /// be cut back by the one token that is evaluated again, else before it.
  pub(super) fn checkpoints(&self, prompt: &[Token], slot: usize, prewarm: bool) -> Vec<usize> {
    let back = match self.decoder.reach() {
      Reach::Back(most) if self.store.enabled() => most.min(1),
      _ => return Vec::new(),
    };
    let cached = self.slots[slot].cached.len();
    let live = self.slots.iter().filter(|slot| !slot.private).map(|slot| common_prefix(&slot.cached, prompt));
    let branch = live.max().unwrap_or(0).max(self.store.shared(prompt));
    let before_last = prompt.len() - 1;
    let end = if prewarm { prompt.len() } else { before_last + back };
    let mut lengths = vec![branch.min(before_last), end];
    lengths.dedup();
    lengths.retain(|&length| length >= cached + LEAST);
    lengths
  }

  /// Takes the snapshots that are due after a decode.
  pub(super) fn checkpoint(&mut self) {
    for index in 0..self.slots.len() {
      let length = self.slots[index].cached.len();
      let private = self.slots[index].private;
      let Some(running) = &mut self.slots[index].running else { continue };
      let due = running.checkpoints.contains(&length) && !private;
      running.checkpoints.retain(|&at| at > length);
      if due && !self.store.covers(&self.slots[index].cached) {
        self.snapshot(index, Label::default());
      }
    }
  }
}

pub(super) fn common_prefix(a: &[Token], b: &[Token]) -> usize {
  a.iter().zip(b).take_while(|(x, y)| x == y).count()
}
