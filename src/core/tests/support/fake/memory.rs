//! The KV cache of the fake.

use local_inference_core::decoder::{KvMemory, Reach, SequenceId, Token};

use super::{Fake, Memory, index};
use crate::support::state::Held;

impl KvMemory for Fake {
  fn can_truncate(&self, sequence: SequenceId, position: usize) -> bool {
    let length = self.length(sequence);
    assert!(position <= length, "{length} positions cannot be truncated to {position}");
    if position == 0 {
      return true;
    }
    match self.setup.memory {
      Memory::Full => true,
      Memory::Window(most) => length - position <= most,
      Memory::Recurrent => length == position,
    }
  }

  fn truncate(&mut self, sequence: SequenceId, position: usize) -> bool {
    let possible = self.can_truncate(sequence, position);
    if possible {
      self.with(|state| {
        let cells = state.before(sequence, position);
        state.cells[index(sequence)].truncate(cells);
      });
    }
    possible
  }

  fn length(&self, sequence: SequenceId) -> usize {
    self.state.borrow().end(sequence)
  }

  fn copy(&mut self, from: SequenceId, to: SequenceId, position: usize) -> bool {
    assert!(
      from != to && self.can_truncate(from, position),
      "a copy of a beginning that is not there any more"
    );
    self.with(|state| {
      assert!(state.cells[index(to)].is_empty(), "a copy over other tokens");
      let cells = state.before(from, position);
      state.cells[index(to)] = state.cells[index(from)][..cells].to_vec();
    });
    true
  }

  fn reach(&self) -> Reach {
    match self.setup.memory {
      Memory::Full => Reach::Any,
      Memory::Window(most) => Reach::Back(most.min(1)),
      Memory::Recurrent => Reach::Back(0),
    }
  }

  fn snapshot(&mut self, sequence: SequenceId) -> Option<Vec<u8>> {
    self.with(|state| {
      state.snapshots += 1;
      let mut bytes = Vec::new();
      for Held { word, position, next } in state.held(sequence) {
        bytes.extend(word.to_le_bytes());
        if word < 0 {
          bytes.extend([position, next].iter().flat_map(|&number| number.to_le_bytes()));
        }
      }
      Some(bytes)
    })
  }

  fn restore(&mut self, sequence: SequenceId, state: &[u8]) -> bool {
    let context = self.setup.context;
    let mut bytes = state;
    let mut take = |length: usize| {
      let (taken, rest) = bytes.split_at_checked(length)?;
      bytes = rest;
      Some(taken)
    };
    self.with(|state| {
      state.restored += 1;
      state.cells[index(sequence)].clear();
      while let Some(word) = take(size_of::<Token>()) {
        let word = Token::from_le_bytes(word.try_into().expect("four bytes"));
        let mut number = || usize::from_le_bytes(take(8).expect("a number").try_into().expect("eight bytes"));
        let end = state.end(sequence);
        let (position, next) = if word < 0 { (number(), number()) } else { (end, end + 1) };
        state.hold(sequence, Held { word, position, next });
      }
      let used = state.used();
      assert!(used <= context, "{used} cells are in use after a restore, the context has {context}");
    });
    true
  }

  fn can_shift(&self) -> bool {
    self.setup.memory == Memory::Full
  }

  fn shift(&mut self, sequence: SequenceId, keep: usize, discard: usize) -> bool {
    assert!(self.can_shift());
    self.with(|state| {
      let own = &state.cells[index(sequence)];
      let others = state.cells.iter().enumerate().filter(|&(other, _)| other != index(sequence));
      assert!(others.flat_map(|(_, cells)| cells).all(|cell| !own.contains(cell)), "a shift of shared cells");
      let (from, to) = (state.before(sequence, keep), state.before(sequence, keep + discard));
      state.cells[index(sequence)].drain(from..to);
      for cell in state.cells[index(sequence)].clone().into_iter().skip(from) {
        state.table[cell].position -= discard;
        state.table[cell].next -= discard;
      }
    });
    true
  }
}
