//! Ends the answer at a stop string, which is not part of it.

use std::ops::Range;

use super::automaton::{Automaton, Scan};

/// Looks for the earliest stop (the longest of those that start together) across token borders.
#[derive(Debug)]
pub(super) struct StopMatcher {
  automaton: Automaton,
  scan: Scan,
  held: String,
  enabled: bool,
}

impl StopMatcher {
  /// A matcher that is enabled; empty stops are ignored.
  pub(super) fn new(stops: &[String]) -> Self {
    Self {
      automaton: Automaton::new(stops.iter().map(String::as_str)),
      scan: Scan::default(),
      held: String::new(),
      enabled: true,
    }
  }

  /// While off, text passes unseen and unheld.
  pub(super) fn set_enabled(&mut self, enabled: bool) {
    self.enabled = enabled;
  }

  /// Appends to `out` what is certain not to belong to a stop; returns the stop once one is certain. The caller pushes
  /// nothing after that. A stop is text where `may_stop`, given the bytes from its beginning on, says no.
  pub(super) fn push(
    &mut self,
    text: &str,
    out: &mut String,
    may_stop: &mut dyn FnMut(usize) -> bool,
  ) -> Option<String> {
    self.held.push_str(text);
    if !self.enabled {
      self.release(self.held.len(), out);
      self.scan = Scan::default();
      return None;
    }
    while let Some(found) = self.automaton.next_match(&mut self.scan, &self.held) {
      if may_stop(self.held.len() - found.start) {
        return Some(self.cut(found, out));
      }
      self.scan = self.after(found.start);
    }
    let certain = self.automaton.held_from(&self.scan);
    self.release(certain, out);
    self.scan.shift(certain);
    None
  }

  /// Appends what was held, or returns the stop that is complete in it.
  pub(super) fn finish(
    &mut self,
    out: &mut String,
    may_stop: &mut dyn FnMut(usize) -> bool,
  ) -> Option<String> {
    while let Some(found) = self.scan.take_waiting().filter(|_| self.enabled) {
      if may_stop(self.held.len() - found.start) {
        return Some(self.cut(found, out));
      }
      self.scan = self.after(found.start);
      // What is found before the end is settled; what waits at the end is looked at next.
      if let Some(found) = self.automaton.next_match(&mut self.scan, &self.held) {
        self.scan.wait(found);
      }
    }
    self.release(self.held.len(), out);
    None
  }

  /// A scan of what follows the character at `start`.
  fn after(&self, start: usize) -> Scan {
    Scan::at(start + self.held[start..].chars().next().map_or(1, char::len_utf8))
  }

  fn cut(&mut self, found: Range<usize>, out: &mut String) -> String {
    let stop = self.held[found.clone()].to_owned();
    self.release(found.start, out);
    self.held.clear();
    stop
  }

  fn release(&mut self, bytes: usize, out: &mut String) {
    out.push_str(&self.held[..bytes]);
    self.held.drain(..bytes);
  }
}
