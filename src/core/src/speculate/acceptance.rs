//! How often drafted tokens are right, now.

use super::limits::MAX_WINDOW;

/// Share of the old that remains after a trial: the slow average looks back on some thirty tokens, the fast one on six.
const SLOW: f64 = 0.98;
const FAST: f64 = 0.85;
/// Difference of the two averages from which the text is taken to have changed its kind.
const CHANGE: f64 = 0.4;
/// Trials that what is known beforehand counts for.
const PRIOR_WEIGHT: f64 = 2.0;
/// Most trials that what an earlier text taught counts for.
const INHERITED_WEIGHT: f64 = 20.0;
/// Trials that the average over all places counts for at each place.
const SHARED_WEIGHT: f64 = 4.0;

/// Probability that a drafted token is accepted, by its place in the draft.
///
/// A slow average is precise while the text stays of one kind; a fast one notices when it does not, and then replaces the
/// slow one.
#[derive(Debug, Clone)]
pub struct Acceptance {
  slow: Average,
  fast: Average,
  places: [Average; MAX_WINDOW],
}

#[derive(Debug, Clone, Copy)]
struct Average {
  hits: f64,
  trials: f64,
}

impl Average {
  fn of(rate: f64, weight: f64) -> Self {
    Self { hits: rate * weight, trials: weight }
  }

  fn add(&mut self, hit: bool, keep: f64) {
    self.hits = self.hits * keep + f64::from(u8::from(hit));
    self.trials = self.trials * keep + 1.0;
  }

  fn rate(self) -> f64 {
    if self.trials > 0.0 { self.hits / self.trials } else { 0.0 }
  }
}

impl Acceptance {
  /// Starts from `prior`, a probability, which the first trials soon outweigh.
  pub fn new(prior: f64) -> Self {
    let average = Average::of(prior, PRIOR_WEIGHT);
    Self { slow: average, fast: average, places: [Average::of(0.0, 0.0); MAX_WINDOW] }
  }

  /// What the next text may expect after one that ended with this: the same, but it is soon outweighed.
  #[must_use]
  pub fn inherited(&self) -> Self {
    let capped = |average: Average| Average::of(average.rate(), average.trials.min(INHERITED_WEIGHT));
    let slow = capped(self.slow);
    Self { slow, fast: slow, places: self.places.map(capped) }
  }

  /// Of a draft of `drafted` tokens the first `accepted` were right. What follows a wrong one tells nothing.
  pub fn add(&mut self, drafted: usize, accepted: usize) {
    for place in 0..drafted.min(accepted + 1).min(MAX_WINDOW) {
      let hit = place < accepted;
      self.slow.add(hit, SLOW);
      self.fast.add(hit, FAST);
      self.places[place].add(hit, SLOW);
      if (self.fast.rate() - self.slow.rate()).abs() > CHANGE {
        self.slow = self.fast;
        self.places = [Average::of(0.0, 0.0); MAX_WINDOW];
      }
    }
  }

  /// The average over all places.
  pub fn rate(&self) -> f64 {
    self.slow.rate()
  }

  /// The average over the last few tokens.
  pub fn recent(&self) -> f64 {
    self.fast.rate()
  }

  /// Probability at each of the first `window` places, given that those before were accepted.
  pub fn by_place(&self, window: usize) -> Vec<f64> {
    let shared = self.rate();
    let place =
      |average: &Average| (average.hits + SHARED_WEIGHT * shared) / (average.trials + SHARED_WEIGHT);
    self.places.iter().take(window).map(place).collect()
  }
}

/// Tokens that a step with a window of `acceptances.len()` yields on average, where `acceptances[i]` is the probability
/// that drafted token i is accepted once those before it were: 1 + a1 + a1 a2 + ... For equal ones that is
/// (1 - a^(n + 1)) / (1 - a), equation 1 of Leviathan et al. 2023.
pub fn expected_tokens(acceptances: &[f64]) -> f64 {
  let mut survival = 1.0;
  let mut tokens = 1.0;
  for acceptance in acceptances {
    survival *= acceptance;
    tokens += survival;
  }
  tokens
}
