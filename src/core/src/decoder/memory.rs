//! The KV cache of a context: going back, copies, snapshots, moving positions.

use super::decode::SequenceId;

/// How far a restored snapshot can be cut back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
  /// To any position: attention over the whole sequence.
  #[default]
  Any,
  /// By at most this many positions: 1 with sliding-window attention, 0 with recurrent state.
  Back(usize),
}

impl Reach {
  /// How many of `stored` cells serve a prompt that shares the first `shared` of them and may use `limit` of its own.
  pub fn usable(self, stored: usize, shared: usize, limit: usize) -> usize {
    let wanted = shared.min(limit);
    match self {
      Self::Back(most) if stored - wanted > most => 0,
      _ => wanted,
    }
  }
}

/// What the sequences of a context hold.
pub trait KvMemory {
  /// Whether [`truncate`](Self::truncate) to `position` would succeed.
  fn can_truncate(&self, sequence: SequenceId, position: usize) -> bool;

  /// Drops what `sequence` has from `position` on. False, with nothing changed, when the memory cannot go back that far;
  /// to 0 it always can.
  fn truncate(&mut self, sequence: SequenceId, position: usize) -> bool;

  /// Position that follows what `sequence` holds.
  fn length(&self, sequence: SequenceId) -> usize;

  /// Gives the empty sequence `to` what `from` has before `position`, sharing the cells where the memory can. Allowed
  /// where `from` can be truncated to `position`. False, with `to` empty, when it cannot be done.
  fn copy(&mut self, from: SequenceId, to: SequenceId, position: usize) -> bool;

  /// How far a restored snapshot can be cut back.
  fn reach(&self) -> Reach;

  /// A copy of the sequence outside the context; `None` when there is no memory for it.
  fn snapshot(&mut self, sequence: SequenceId) -> Option<Vec<u8>>;

  /// Replaces the sequence by a snapshot of this or an equal context. False, with the sequence empty, when it does not
  /// fit.
  fn restore(&mut self, sequence: SequenceId, state: &[u8]) -> bool;

  /// Whether [`shift`](Self::shift) is possible at all.
  fn can_shift(&self) -> bool;

  /// Removes the `discard` positions after the first `keep` and moves the later ones forward. Only for cells that the
  /// sequence shares with no other. False, with nothing changed, when the memory cannot.
  fn shift(&mut self, sequence: SequenceId, keep: usize, discard: usize) -> bool;
}
