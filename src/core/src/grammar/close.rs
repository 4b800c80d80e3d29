//! A short text that completes what is open.
//!
//! The grammar is followed over single bytes. What is forced is taken; where there is a choice, one byte stands for all
//! that lead to the same continuations. Closings of few choices are looked for first, the fewest first; then deeper ones,
//! depth first, with what closes something before what opens something.

use llguidance::Matcher;

/// Bytes that close, then bytes that make a shortest value, in the order in which they are tried.
const ORDER: &[u8] = b"}]\">/<0123456789nftae.- :,@_AT+Z{[(";
/// Bytes of `ORDER` that may end a free text or go on with it.
const PROBES: &[u8] = b"\"<a0 ";
/// Bytes that may come next above which a state is one of free text.
const FREE: usize = 40;
/// Numbers of choices of the rounds, the last one without a limit of its own.
const ROUNDS: [usize; 6] = [1, 2, 3, 4, 6, 400];
/// States that each round looks at.
const BUDGET: usize = 700;
/// Longest closing in bytes.
const MAX_LENGTH: usize = 2_048;

type Allowed = [bool; 256];

/// Follows the output over bytes.
pub(super) struct Closer {
  matcher: Matcher,
  endings: Vec<Vec<u8>>,
}

/// A state of the search: where the closing stood, and what else may be tried there, the best last.
struct Level {
  length: usize,
  choices: Vec<Vec<u8>>,
}

impl Closer {
  pub(super) fn new(matcher: Matcher, endings: &[String]) -> Self {
    Self { matcher, endings: endings.iter().map(|text| text.as_bytes().to_vec()).collect() }
  }

  /// Takes what was generated; false when it cannot be followed.
  pub(super) fn feed(&mut self, bytes: &[u8]) -> bool {
    self.matcher.consume_tokens(&tokens(bytes)).is_ok()
  }

  /// The closing from here; the state stays as it is.
  pub(super) fn search(&mut self) -> Option<Vec<u8>> {
    for depth in ROUNDS {
      let mut closing = Vec::new();
      let found = self.round(&mut closing, depth);
      let result = closing.clone();
      self.back(&mut closing, 0);
      if self.matcher.is_error() {
        return None;
      }
      if found {
        return Some(result);
      }
    }
    None
  }

  /// What ends the innermost open part; the state stays as it is.
  pub(super) fn ending(&mut self) -> Option<Vec<u8>> {
    let forced = self.matcher.compute_ff_bytes();
    if forced.is_empty() { self.choices().pop() } else { Some(forced) }
  }

  /// Looks for a closing with at most `depth` choices.
  fn round(&mut self, closing: &mut Vec<u8>, depth: usize) -> bool {
    let mut levels: Vec<Level> = Vec::new();
    for _ in 0..BUDGET {
      if self.settle(closing) {
        return true;
      }
      if closing.len() < MAX_LENGTH && levels.len() < depth {
        let choices = self.choices();
        levels.push(Level { length: closing.len(), choices });
      }
      // The next untried choice of the deepest state that has one.
      let (length, choice) = loop {
        let Some(level) = levels.last_mut() else { return false };
        match level.choices.pop() {
          Some(choice) => break (level.length, choice),
          None => _ = levels.pop(),
        }
      };
      self.back(closing, length);
      if self.matcher.consume_tokens(&tokens(&choice)).is_err() {
        return false;
      }
      closing.extend_from_slice(&choice);
    }
    false
  }

  /// Takes what is forced; true when the output may end.
  fn settle(&mut self, closing: &mut Vec<u8>) -> bool {
    loop {
      if self.matcher.is_stopped() || self.matcher.is_accepting().unwrap_or(false) {
        return !self.matcher.is_error();
      }
      let forced = self.matcher.compute_ff_bytes();
      let fits = closing.len() + forced.len() <= MAX_LENGTH;
      if forced.is_empty() || !fits || self.matcher.consume_tokens(&tokens(&forced)).is_err() {
        return false;
      }
      closing.extend_from_slice(&forced);
    }
  }

  fn back(&mut self, closing: &mut Vec<u8>, length: usize) {
    let taken = closing.len() - length;
    if taken > 0 && self.matcher.rollback(taken).is_ok() {
      closing.truncate(length);
    }
  }

  /// What may be tried here, the best last.
  fn choices(&mut self) -> Vec<Vec<u8>> {
    let Some(allowed) = self.allowed() else { return Vec::new() };
    let mut choices = self.fitting_endings(&allowed);
    let free = allowed.iter().filter(|&&byte| byte).count() > FREE;
    let (mut steps, mut idle) = if free { self.split(PROBES, &allowed) } else { (Vec::new(), Vec::new()) };
    if steps.is_empty() {
      let others: Vec<u8> = (0..=u8::MAX).filter(|byte| !ORDER.contains(byte)).collect();
      (steps, idle) = self.split(&[ORDER, &others].concat(), &allowed);
    }
    choices.extend(steps);
    choices.extend(idle);
    choices.reverse();
    choices
  }

  /// Endings that change what may come next; others are text like any other.
  fn fitting_endings(&mut self, allowed: &Allowed) -> Vec<Vec<u8>> {
    let mut fitting = Vec::new();
    for ending in self.endings.clone() {
      let begins = ending.first().is_some_and(|&byte| allowed[usize::from(byte)]);
      let valid =
        begins && self.matcher.validate_tokens(&tokens(&ending)).is_ok_and(|count| count == ending.len());
      if valid && self.after(&ending).is_some_and(|next| next != *allowed) {
        fitting.push(ending);
      }
    }
    fitting
  }

  /// Of `bytes`, one for each continuation: those that lead on, and one that leads back here.
  fn split(&mut self, bytes: &[u8], allowed: &Allowed) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut steps, mut idle) = (Vec::new(), Vec::new());
    let mut seen: Vec<Allowed> = Vec::new();
    for &byte in bytes.iter().filter(|&&byte| allowed[usize::from(byte)]) {
      let Some(next) = self.after(&[byte]) else { continue };
      // A bracket that closes leads into what is around it, which may look the same.
      let closes =
        matches!(byte, b'}' | b']') && next != [false; 256] && allowed.iter().filter(|&&b| b).count() <= FREE;
      if seen.contains(&next) && !closes {
        continue;
      }
      seen.push(next);
      if next == *allowed && !closes {
        idle.push(vec![byte]);
      } else {
        steps.push(vec![byte]);
      }
    }
    (steps, idle)
  }

  fn allowed(&mut self) -> Option<Allowed> {
    let mask = self.matcher.compute_mask_or_eos().ok()?;
    let mut allowed = [false; 256];
    for (byte, slot) in (0_u32..).zip(&mut allowed) {
      *slot = mask.is_allowed(byte);
    }
    Some(allowed)
  }

  /// What is allowed after `bytes`.
  fn after(&mut self, bytes: &[u8]) -> Option<Allowed> {
    self.matcher.consume_tokens(&tokens(bytes)).ok()?;
    let end = self.matcher.is_stopped();
    let allowed = if end { Some([false; 256]) } else { self.allowed() };
    self.matcher.rollback(bytes.len()).ok()?;
    allowed
  }
}

fn tokens(bytes: &[u8]) -> Vec<u32> {
  bytes.iter().map(|&byte| u32::from(byte)).collect()
}
