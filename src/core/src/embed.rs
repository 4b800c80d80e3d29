//! Rules of embeddings that need no model: what fits, which texts share a decode, and the finished vector.

use std::collections::BTreeSet;
use std::str::FromStr;

use crate::error::{EngineError, ErrorCode, Result};

/// Which end of a text that is too long is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Truncate {
  /// The beginning.
  #[default]
  Head,
  /// The end.
  Tail,
  /// Neither: the text is refused with `CONTEXT_OVERFLOW`.
  Error,
}

impl FromStr for Truncate {
  type Err = EngineError;

  fn from_str(text: &str) -> Result<Self> {
    match text {
      "head" => Ok(Self::Head),
      "tail" => Ok(Self::Tail),
      "error" => Ok(Self::Error),
      other => {
        let shown: String = other.chars().take(40).collect();
        let message = format!("truncate must be \"head\", \"tail\" or \"error\", got {shown:?}");
        Err(EngineError::new(ErrorCode::InvalidInput, message))
      }
    }
  }
}

/// The tokens of a vocabulary that frame a text; the model reads its vector from one of them or learned to expect them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Specials {
  /// Beginning of sequence; kept at the front.
  pub bos: Option<i32>,
  /// Classification token; kept at the front.
  pub cls: Option<i32>,
  /// End of sequence; kept at the end.
  pub eos: Option<i32>,
  /// Separator; kept at the end.
  pub sep: Option<i32>,
}

impl Specials {
  /// How many tokens frame the front and the end of `tokens`, at most one each.
  fn frame(self, tokens: &[i32]) -> (usize, usize) {
    let is_any = |token: i32, of: [Option<i32>; 2]| of.contains(&Some(token));
    match tokens {
      [] => (0, 0),
      [only] => (usize::from(is_any(*only, [self.bos, self.cls])), 0),
      [first, .., last] => {
        (usize::from(is_any(*first, [self.bos, self.cls])), usize::from(is_any(*last, [self.eos, self.sep])))
      }
    }
  }
}

/// Shortens `tokens` to at most `limit`; the flag says whether anything was cut.
///
/// The framing tokens stay where they are, the cut is made in the text between them.
///
/// # Errors
/// `CONTEXT_OVERFLOW` with both numbers when the text is too long and `policy` is [`Truncate::Error`], or when `limit`
/// leaves room for no token of the text beside the framing ones.
pub fn fit_tokens(
  mut tokens: Vec<i32>,
  limit: usize,
  policy: Truncate,
  special: Specials,
) -> Result<(Vec<i32>, bool)> {
  let length = tokens.len();
  if length <= limit {
    return Ok((tokens, false));
  }
  let (front, back) = special.frame(&tokens);
  if policy == Truncate::Error || limit <= front + back {
    let remedy = if policy == Truncate::Error {
      "shorten it, split it, or allow truncation with \"head\" or \"tail\""
    } else {
      "that leaves no room for any of its text"
    };
    return Err(EngineError::new(
      ErrorCode::ContextOverflow,
      format!("the text to embed has {length} tokens, the limit is {limit}; {remedy}"),
    ));
  }
  let excess = length - limit;
  let cut = match policy {
    Truncate::Tail => front..front + excess,
    Truncate::Head | Truncate::Error => length - back - excess..length - back,
  };
  tokens.drain(cut);
  Ok((tokens, true))
}

/// Scales `vector` to Euclidean length 1, computed in `f64`.
///
/// Returns false and leaves the vector as it is when it is zero (or empty) or holds a value that is not finite.
#[must_use = "false means that the vector has no direction"]
pub fn normalize(vector: &mut [f32]) -> bool {
  let norm = vector.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
  if !norm.is_finite() || norm == 0.0 {
    return false;
  }
  for value in vector {
    // Each quotient lies in -1..=1, so only precision is lost.
    #[expect(clippy::cast_possible_truncation)]
    let scaled = (f64::from(*value) / norm) as f32;
    *value = scaled;
  }
  true
}

/// Keeps the first `dimensions` values, as models with nested (Matryoshka) representations allow; the caller normalises
/// afterwards. Kusupati and others, "Matryoshka Representation Learning", 2022.
///
/// # Errors
/// `INVALID_INPUT` when `dimensions` is 0 or more than the vector has.
pub fn reduce_dimensions(vector: &mut Vec<f32>, dimensions: usize) -> Result<()> {
  let length = vector.len();
  if dimensions == 0 || dimensions > length {
    return Err(EngineError::new(
      ErrorCode::InvalidInput,
      format!("dimensions must be between 1 and {length}, got {dimensions}"),
    ));
  }
  vector.truncate(dimensions);
  Ok(())
}

/// Distributes texts of `lengths` tokens over decodes of at most `token_limit` tokens and `sequence_limit` texts.
///
/// Returns indices into `lengths`: each exactly once, ascending within a pack, packs ordered by their first index.
/// Best-fit decreasing, so the number of packs is near the minimum. A text longer than `token_limit` (truncate before)
/// gets a pack of its own; a `sequence_limit` of 0 counts as 1.
pub fn pack(lengths: &[usize], token_limit: usize, sequence_limit: usize) -> Vec<Vec<usize>> {
  let mut by_length: Vec<usize> = (0..lengths.len()).collect();
  by_length.sort_by_key(|&index| std::cmp::Reverse(lengths[index]));
  let mut packs: Vec<Vec<usize>> = Vec::new();
  // Packs that take another text, by the tokens they have left: the fullest one that fits is one lookup away.
  let mut open: BTreeSet<(usize, usize)> = BTreeSet::new();
  for index in by_length {
    let length = lengths[index];
    let (room, pack) = open.range((length, 0)..).next().copied().unwrap_or((token_limit, packs.len()));
    if pack == packs.len() {
      packs.push(Vec::new());
    }
    open.remove(&(room, pack));
    packs[pack].push(index);
    if packs[pack].len() < sequence_limit && length <= room {
      open.insert((room - length, pack));
    }
  }
  for pack in &mut packs {
    pack.sort_unstable();
  }
  packs.sort_unstable();
  packs
}
