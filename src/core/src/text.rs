//! From the bytes of tokens to what a caller sees: characters, reasoning apart from the answer, stop strings.
//!
//! Three stages in a row, each holding back only what a later token can still change: `utf8` completes characters,
//! `reasoning` separates reasoning blocks, `stops` ends the answer. How the bytes are cut into tokens never changes
//! the concatenated result.

mod automaton;
mod reasoning;
mod stops;
mod utf8;

pub use reasoning::ReasoningTags;
use reasoning::{Channel, ReasoningSplitter};
use stops::StopMatcher;
use utf8::Utf8Assembler;

/// What the text of a generation is searched for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextOptions {
  /// Strings that end the answer and are not part of it. At most 64 of at most 1,024 bytes; empty ones are ignored.
  pub stops: Vec<String>,
  /// Reasoning tags of the model; `None` leaves all text in the answer.
  pub reasoning: Option<ReasoningTags>,
}

/// What became certain with one token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextDelta {
  /// New text of the answer.
  pub text: String,
  /// New text of the reasoning.
  pub reasoning: String,
  /// The stop string that ended the answer. Set once; nothing follows it.
  pub stop: Option<String>,
}

/// The stages, fed token by token.
#[derive(Debug)]
pub struct TextPipeline {
  utf8: Utf8Assembler,
  splitter: Option<ReasoningSplitter>,
  stops: StopMatcher,
  ended: bool,
}

impl TextPipeline {
  /// A pipeline for one generation, with stops enabled.
  pub fn new(options: TextOptions) -> Self {
    Self {
      utf8: Utf8Assembler::default(),
      splitter: options.reasoning.map(|tags| ReasoningSplitter::new(&tags)),
      stops: StopMatcher::new(&options.stops),
      ended: false,
    }
  }

  /// Takes the bytes of one token, which may end inside a character, and returns what they made certain.
  ///
  /// An invalid sequence becomes U+FFFD, one for each maximal subpart, as in [`String::from_utf8_lossy`]. After a stop
  /// or [`finish`](Self::finish) the delta is empty.
  pub fn push(&mut self, bytes: &[u8]) -> TextDelta {
    self.push_where(bytes, &mut |_| true)
  }

  /// As [`push`](Self::push); a stop is text where `may_stop`, given the number of bytes of the answer from its beginning
  /// on, says no.
  pub fn push_where(&mut self, bytes: &[u8], may_stop: &mut dyn FnMut(usize) -> bool) -> TextDelta {
    let mut delta = TextDelta::default();
    if !self.ended {
      let text = self.utf8.push(bytes);
      self.route(&text, &mut delta, may_stop);
      self.ended = delta.stop.is_some();
    }
    delta
  }

  /// Whether stops are looked for in the text of the tokens to come; off until enough tokens were generated.
  ///
  /// A stop never begins in text that passed while stops were off. Switching off releases what was held with the next
  /// push.
  pub fn set_stops_enabled(&mut self, enabled: bool) {
    self.stops.set_enabled(enabled);
  }

  /// Whether the output is inside a reasoning block, as far as its tags are complete.
  pub fn in_reasoning(&self) -> bool {
    !self.ended && self.splitter.as_ref().is_some_and(ReasoningSplitter::is_inside)
  }

  /// Ends the output and returns what was held: an incomplete character as U+FFFD, the beginning of a tag or a stop as
  /// text.
  ///
  /// `stop` is set here when a complete stop was held only because a longer one could have followed (`"\n"` beside
  /// `"\n\n"`).
  pub fn finish(&mut self) -> TextDelta {
    self.finish_where(&mut |_| true)
  }

  /// As [`finish`](Self::finish), with what [`push_where`](Self::push_where) asks.
  pub fn finish_where(&mut self, may_stop: &mut dyn FnMut(usize) -> bool) -> TextDelta {
    let mut delta = TextDelta::default();
    if self.ended {
      return delta;
    }
    let rest = self.utf8.finish();
    self.route(rest, &mut delta, may_stop);
    if let Some(splitter) = &mut self.splitter {
      splitter.finish(&mut |channel, piece| deliver(&mut self.stops, channel, piece, &mut delta, may_stop));
    }
    if delta.stop.is_none() {
      delta.stop = self.stops.finish(&mut delta.text, may_stop);
    }
    self.ended = true;
    delta
  }

  fn route(&mut self, text: &str, delta: &mut TextDelta, may_stop: &mut dyn FnMut(usize) -> bool) {
    let held = self.utf8.held();
    let Some(splitter) = &mut self.splitter else {
      deliver(&mut self.stops, Channel::Answer, text, delta, &mut |tail| may_stop(tail + held));
      return;
    };
    let mut pieces = Vec::new();
    splitter.push(text, &mut |channel, piece| pieces.push((channel, piece.to_owned())));
    let mut later = pieces.iter().map(|(_, piece)| piece.len()).sum::<usize>() + held + splitter.held();
    for (channel, piece) in pieces {
      later -= piece.len();
      deliver(&mut self.stops, channel, &piece, delta, &mut |tail| may_stop(tail + later));
    }
  }
}

/// One piece of a channel in the order of the output: what comes after a stop is dropped, reasoning too.
fn deliver(
  stops: &mut StopMatcher,
  channel: Channel,
  piece: &str,
  delta: &mut TextDelta,
  may_stop: &mut dyn FnMut(usize) -> bool,
) {
  if delta.stop.is_some() {
    return;
  }
  match channel {
    Channel::Answer => delta.stop = stops.push(piece, &mut delta.text, may_stop),
    Channel::Reasoning => delta.reasoning.push_str(piece),
  }
}
