//! Snapshots of what sequences hold: when one is taken, and for what.

use std::sync::Arc;

use super::sequence::Sequence;
use super::{KvCache, LEAST, WORTH_KEEPING};
use crate::decoder::{KvMemory, Reach};
use crate::durable::Saved;
use crate::history::History;
use crate::prefix::Label;

impl KvCache {
  /// Keeps a snapshot of a slot of which all but the first `keep` cells are about to go, if nothing else has them.
  pub(super) fn keep_snapshot<D: KvMemory>(&mut self, decoder: &mut D, slot: usize, keep: usize) {
    let sequence = &self.sequences[slot];
    let length = sequence.cached().len_cells();
    if sequence.is_private() || length < keep + WORTH_KEEPING || self.held_elsewhere(slot) {
      return;
    }
    let conversation = sequence.conversation.clone();
    let label = Label { pinned: false, conversation: conversation.clone() };
    if !self.store.covers(sequence.cached()) && !self.snapshot(decoder, slot, label) {
      self.lost.extend(conversation);
    }
  }

  pub(super) fn held_elsewhere(&self, slot: usize) -> bool {
    let cached = self.cached(slot);
    let others = self.sequences.iter().enumerate().filter(|(index, it)| *index != slot && !it.is_private());
    let whole =
      |other: &Sequence| self.reach == Reach::Any || other.cached().len_cells() == cached.len_cells();
    others.into_iter().any(|(_, other)| whole(other) && other.cached().starts_with(cached))
  }

  /// Stores a snapshot of what a slot holds.
  fn snapshot<D: KvMemory>(&mut self, decoder: &mut D, slot: usize, label: Label) -> bool {
    if !self.store.enabled() {
      return false;
    }
    let Some(state) = decoder.snapshot(self.id(slot)) else { return false };
    self.store.insert(self.sequences[slot].cached(), Arc::new(state), label)
  }

  /// Keeps what a slot holds until pins exceed their share of the budget.
  pub(in crate::schedule) fn pin<D: KvMemory>(&mut self, decoder: &mut D, slot: usize) {
    if !self.store.pin(self.sequences[slot].cached()) {
      self.snapshot(decoder, slot, Label { pinned: true, conversation: None });
    }
  }

  /// Takes a snapshot of a slot that reached a length at which one is due.
  pub(in crate::schedule) fn checkpoint<D: KvMemory>(&mut self, decoder: &mut D, slot: usize) {
    if !self.sequences[slot].is_private() && !self.store.covers(self.cached(slot)) {
      self.snapshot(decoder, slot, Label::default());
    }
  }

  /// Takes a stored state of a conversation; false if there is no room for it.
  pub(in crate::schedule) fn insert(&mut self, saved: &Saved, conversation: Option<Arc<str>>) -> bool {
    self.store.insert(&saved.history, Arc::clone(&saved.state), Label { pinned: false, conversation })
  }

  /// Lengths of a prompt at which snapshots are taken while it is evaluated. Memory that can go back needs none. Otherwise
  /// they are where this prompt branches off from others, and where a repetition can start: at its end if a snapshot can
  /// be cut back by the one token that is evaluated again, else before it.
  pub(in crate::schedule) fn checkpoints(&self, prompt: &History, slot: usize, prewarm: bool) -> Vec<usize> {
    let back = match self.reach {
      Reach::Back(most) if self.store.enabled() => most.min(1),
      _ => return Vec::new(),
    };
    let cached = self.cached(slot).len_cells();
    let live = self.sequences.iter().filter(|sequence| !sequence.is_private());
    let branch = live.map(|sequence| sequence.cached().common_prefix(prompt)).max().unwrap_or(0);
    let branch = branch.max(self.store.shared(prompt));
    let before_last = prompt.len_cells() - 1;
    let end = if prewarm { prompt.len_cells() } else { before_last + back };
    let mut lengths = vec![branch.min(before_last), end];
    lengths.dedup();
    lengths.retain(|&length| length >= cached + LEAST);
    lengths
  }
}
