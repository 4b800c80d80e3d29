//! What a decode of k tokens and a drafted token cost on this machine, in plain steps.

/// Row counts that are told apart; larger batches count as this one.
const MOST_ROWS: usize = 64;
/// Cost of one more row while nothing is known: what a 2-core x86 processor takes (28 %), in round numbers.
const SLOPE: f64 = 0.25;
/// Least cost of one more row that an untried size is hoped to have.
const BEST_SLOPE: f64 = 0.04;
/// The first samples are not believed if they exceed what their neighbours suggest by this factor.
const HICCUP: f64 = 1.5;
/// Samples that a median is taken of.
const SAMPLES: usize = 9;
/// Tokens that a drafter has not read although it drafted in the step before: its own last one was never evaluated.
const USUALLY_UNREAD: usize = 2;
/// Samples of which one that is wrong does not move the median.
const SETTLED: usize = 3;

/// Relative costs of decodes, by the number of tokens in them.
///
/// Times of different moments do not compare: the load of the machine changes and the context grows. So only neighbours
/// are compared: when a decode of k tokens follows one of j, the quotient of their times is a sample of cost(k) /
/// cost(j), and a draft is compared with the decode that verifies it. Medians keep a hiccup out.
#[derive(Debug, Clone)]
pub struct Costs {
  rows: Vec<Recent>,
  /// Cost of one drafted token.
  draft: Recent,
  /// Cost of a token that a drafter reads because it was decoded without it.
  reading: Recent,
  /// Seconds of a plain step at the machine's current pace.
  plain: Recent,
  last: Option<(usize, f64)>,
  drafted: Option<Drafted>,
}

#[derive(Debug, Clone, Copy)]
struct Drafted {
  tokens: usize,
  unread: usize,
  seconds: f64,
}

impl Default for Costs {
  fn default() -> Self {
    Self {
      rows: vec![Recent::default(); MOST_ROWS + 1],
      draft: Recent::default(),
      reading: Recent::default(),
      plain: Recent::default(),
      last: None,
      drafted: None,
    }
  }
}

impl Costs {
  /// Nothing is known.
  pub fn new() -> Self {
    Self::default()
  }

  /// A draft of up to `tokens` tokens took `seconds`, in which the drafter first read `unread` ones; the decode that is
  /// reported next verifies it.
  pub fn drafted(&mut self, tokens: usize, unread: usize, seconds: f64) {
    self.drafted = Some(Drafted { tokens: tokens.max(1), unread, seconds });
  }

  /// A decode of `rows` tokens that each have logits took `seconds`.
  pub fn decoded(&mut self, rows: usize, seconds: f64) {
    let rows = rows.clamp(1, MOST_ROWS);
    if !seconds.is_finite() || seconds <= 0.0 {
      return self.interrupted();
    }
    if let Some((before, earlier)) = self.last.filter(|&(before, _)| before != rows) {
      // A pair tells about the size that less is known of; one row is the unit.
      let fewer = self.rows[before].samples.len() < self.rows[rows].samples.len();
      if rows == 1 || before > 1 && fewer {
        self.compared(before, self.ratio(rows) * earlier / seconds);
      } else {
        self.compared(rows, self.ratio(before) * seconds / earlier);
      }
    }
    let plain = seconds / self.ratio(rows);
    self.plain.push(plain);
    if let Some(drafted) = self.drafted.take() {
      self.learn(drafted, plain);
    }
    self.last = Some((rows, seconds));
  }

  #[allow(clippy::cast_precision_loss, reason = "counts of tokens are small")]
  fn learn(&mut self, Drafted { tokens, unread, seconds }: Drafted, plain: f64) {
    let cost = seconds / plain;
    if unread <= USUALLY_UNREAD {
      self.draft.push(cost / tokens as f64);
    } else {
      self.reading.push((cost - self.draft(tokens)).max(0.0) / unread as f64);
    }
  }

  fn compared(&mut self, rows: usize, ratio: f64) {
    let most = HICCUP * self.guess(rows);
    let known = &mut self.rows[rows];
    known.push(ratio);
    known.doubtful = known.samples.len() < SETTLED && known.median().is_some_and(|ratio| ratio > most);
  }

  /// Something else ran in between, such as a prefill: the next decode has no neighbour.
  pub fn interrupted(&mut self) {
    self.last = None;
    self.drafted = None;
  }

  /// Whether the unit is known: one step gives it, a second one a first impression of how even the machine's pace is.
  pub fn known(&self) -> bool {
    self.plain.samples.len() > 1
  }

  /// Whether the cost of a decode of `rows` tokens is known: compared with others, and three times if they look like hiccups.
  pub fn measured(&self, rows: usize) -> bool {
    self.value(rows).is_some()
  }

  /// Decodes of `rows` tokens after which one of another size should follow, because only a change tells what they cost:
  /// a first impression may be a hiccup, which a median of few does not keep out.
  pub fn trust(&self, rows: usize) -> u32 {
    match self.rows[rows.min(MOST_ROWS)].samples.len() {
      0..SETTLED => 1,
      SETTLED..SAMPLES => 8,
      _ => 64,
    }
  }

  /// Whether the last decode had `rows` tokens: another one of that size would tell nothing.
  pub fn repeats(&self, rows: usize) -> bool {
    self.last.is_some_and(|(last, _)| last == rows)
  }

  /// Seconds of a decode of one token, at the pace of the last few decodes.
  pub fn plain_seconds(&self) -> Option<f64> {
    self.plain.median()
  }

  /// Cost of a decode of `rows` tokens.
  pub fn ratio(&self, rows: usize) -> f64 {
    self.value(rows).unwrap_or_else(|| self.guess(rows))
  }

  /// The same, but for a size that was never tried what it might cost at best.
  #[allow(clippy::cast_precision_loss, reason = "row counts are small")]
  pub fn hopeful_ratio(&self, rows: usize) -> f64 {
    self.value(rows).unwrap_or_else(|| {
      let below = self.below(rows);
      below.1 + BEST_SLOPE * (rows - below.0) as f64
    })
  }

  /// Cost of `tokens` drafted tokens.
  #[allow(clippy::cast_precision_loss, reason = "windows are small")]
  pub fn draft(&self, tokens: usize) -> f64 {
    self.draft.median().unwrap_or(0.0) * tokens as f64
  }

  /// Cost of `tokens` tokens that the drafter has to read before it can draft; those of every step are in its drafts.
  #[allow(clippy::cast_precision_loss, reason = "counts of tokens are small")]
  pub fn reading(&self, tokens: usize) -> f64 {
    let more = tokens.saturating_sub(USUALLY_UNREAD);
    self.reading.median().unwrap_or(0.0) * more as f64
  }

  fn value(&self, rows: usize) -> Option<f64> {
    let known = &self.rows[rows.min(MOST_ROWS)];
    if rows <= 1 { Some(1.0) } else { known.median().filter(|_| !known.doubtful) }
  }

  /// The next smaller size whose cost is known.
  fn below(&self, rows: usize) -> (usize, f64) {
    (1..rows).rev().find_map(|k| self.value(k).map(|ratio| (k, ratio))).unwrap_or((1, 1.0))
  }

  /// What the neighbours suggest for `rows`.
  #[allow(clippy::cast_precision_loss, reason = "row counts are small")]
  fn guess(&self, rows: usize) -> f64 {
    let rows = rows.clamp(1, MOST_ROWS);
    let below = self.below(rows);
    let above = (rows + 1..=MOST_ROWS).find_map(|k| self.value(k).map(|ratio| (k, ratio)));
    let slope = match above {
      Some(above) => (above.1 - below.1) / (above.0 - below.0) as f64,
      None if below.0 > 1 => ((below.1 - 1.0) / (below.0 - 1) as f64).max(BEST_SLOPE),
      None => SLOPE,
    };
    below.1 + slope * (rows - below.0) as f64
  }
}

/// The last few samples.
#[derive(Debug, Clone, Default)]
struct Recent {
  samples: Vec<f64>,
  next: usize,
  /// The few samples that there are look like hiccups.
  doubtful: bool,
}

impl Recent {
  fn push(&mut self, sample: f64) {
    if self.samples.len() < SAMPLES {
      self.samples.push(sample);
    } else {
      self.samples[self.next] = sample;
    }
    self.next = (self.next + 1) % SAMPLES;
  }

  /// The median; the smaller one of two in the middle, because what disturbs a measurement lengthens it.
  fn median(&self) -> Option<f64> {
    let mut sorted = self.samples.clone();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
  }
}

#[cfg(test)]
mod tests {
  use super::*;

  fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
  }

  #[test]
  fn ratios_come_from_neighbours_and_survive_a_change_of_pace() {
    let mut costs = Costs::new();
    for pace in [1.0, 5.0, 0.3] {
      costs.interrupted();
      costs.decoded(1, pace);
      costs.drafted(3, 1, 0.3 * pace);
      costs.decoded(4, 1.7 * pace);
      costs.decoded(1, pace);
    }
    assert!(close(costs.ratio(4), 1.7), "{}", costs.ratio(4));
    assert!(close(costs.draft(2), 0.2), "{}", costs.draft(2));
  }

  #[test]
  fn untried_sizes_lie_between_their_neighbours() {
    let mut costs = Costs::new();
    assert!(close(costs.ratio(3), 1.5));
    costs.decoded(1, 1.0);
    costs.decoded(5, 3.0);
    assert!(close(costs.ratio(3), 2.0));
    assert!(close(costs.ratio(6), 3.5));
    assert!(close(costs.hopeful_ratio(6), 3.04));
  }

  #[test]
  fn a_hiccup_does_not_move_a_ratio() {
    let mut costs = Costs::new();
    for round in 0..20 {
      costs.decoded(1, 1.0);
      costs.decoded(2, if round % 4 == 3 { 50.0 } else { 1.3 });
    }
    assert!(close(costs.ratio(2), 1.3), "{}", costs.ratio(2));
  }
}
