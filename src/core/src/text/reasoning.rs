//! Separates reasoning blocks from the answer and removes their tags.

use super::automaton::{Automaton, Scan};

/// How a model marks its reasoning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReasoningTags {
  /// The text that opens a block, such as `<think>`. Empty: no block opens within the output.
  pub start: String,
  /// The texts that close a block; any of them does. Empty strings are ignored; with none left, a block never closes.
  pub ends: Vec<String>,
  /// The prompt already ends inside a block, so the output starts there.
  pub open: bool,
}

/// Where a piece of text belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
  Answer,
  Reasoning,
}

/// Follows the tags across token borders. Newlines directly after a tag (or after the prompt that opened the block) are
/// dropped: templates put them there, they are not content.
#[derive(Debug)]
pub(super) struct ReasoningSplitter {
  start: Automaton,
  ends: Automaton,
  inside: bool,
  after_tag: bool,
  scan: Scan,
  held: String,
}

impl ReasoningSplitter {
  /// Starts inside a block when the tags say that the prompt opened one.
  pub(super) fn new(tags: &ReasoningTags) -> Self {
    Self {
      start: Automaton::new([tags.start.as_str()]),
      ends: Automaton::new(tags.ends.iter().map(String::as_str)),
      inside: tags.open,
      after_tag: tags.open,
      scan: Scan::default(),
      held: String::new(),
    }
  }

  /// Whether a block is open.
  pub(super) fn is_inside(&self) -> bool {
    self.inside
  }

  /// Bytes that may begin a tag.
  pub(super) fn held(&self) -> usize {
    self.held.len()
  }

  /// Gives `sink` the pieces that are certain, in the order of the output.
  pub(super) fn push(&mut self, text: &str, sink: &mut impl FnMut(Channel, &str)) {
    self.held.push_str(text);
    let consumed = self.split(false, sink);
    self.held.drain(..consumed);
    self.scan.shift(consumed);
  }

  /// Gives `sink` what was held; the beginning of a tag is text.
  pub(super) fn finish(&mut self, sink: &mut impl FnMut(Channel, &str)) {
    self.split(true, sink);
    self.held.clear();
    self.scan = Scan::default();
  }

  /// Emits what is certain and returns how many bytes of the buffer that uses up.
  fn split(&mut self, last: bool, sink: &mut impl FnMut(Channel, &str)) -> usize {
    let mut emitted = 0;
    loop {
      let automaton = if self.inside { &self.ends } else { &self.start };
      let mut found = automaton.next_match(&mut self.scan, &self.held);
      if last && found.is_none() {
        found = self.scan.take_waiting();
      }
      let Some(tag) = found else {
        let certain = if last { self.held.len() } else { automaton.held_from(&self.scan) };
        self.emit(emitted, certain, sink);
        return certain;
      };
      self.emit(emitted, tag.start, sink);
      emitted = tag.end;
      self.inside = !self.inside;
      self.after_tag = true;
      self.scan = Scan::at(tag.end);
    }
  }

  fn emit(&mut self, from: usize, to: usize, sink: &mut impl FnMut(Channel, &str)) {
    let mut piece = &self.held[from..to];
    if self.after_tag {
      piece = piece.trim_start_matches(['\n', '\r']);
    }
    if !piece.is_empty() {
      self.after_tag = false;
      sink(if self.inside { Channel::Reasoning } else { Channel::Answer }, piece);
    }
  }
}
