//! How many tokens to draft next.

use super::acceptance::{Acceptance, expected_tokens};
use super::account::{Account, Share};
use super::costs::Costs;
use super::limits::Limits;
use super::stakes::{Beside, SHORTEST_PAUSE, WORTHWHILE, could_pay, longest_pause, probe, reading, stake};

/// Plain steps that a probe leaves in the account, so that a window can open if it finds the drafter right; less where the
/// shortest one risks less.
const DEAREST_RESERVE: f64 = 1.5;
/// After this many correct probes in a row without a window opening, drafting is known not to pay.
const LONGEST_RUN: u32 = 6;
/// Longest pause where probes are often right, but not often enough.
const PAUSE_IF_OFTEN_RIGHT: u32 = 24;
/// Steps after which a longer window of unknown cost is tried: the cost does not always grow with the size.
const TRY_EVERY: u32 = 32;
/// Steps after which drafting that seemed not worth it is tried again: the machine may have been busy at the time.
const RETRY_EVERY: u32 = 256;
/// Probability of acceptance from which that makes sense.
const RETRY_RATE: f64 = 0.6;
/// Plain steps that may always be spent on reading what was decoded without the drafter.
const LITTLE_READING: f64 = 0.25;
/// Probability of acceptance that is assumed at first.
const PRIOR: f64 = 0.6;

/// What the next step of a sequence does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
  /// Decodes one token.
  Plain,
  /// Decodes one token, and drafts one only to see whether it is the one that follows.
  Probe,
  /// Drafts this many tokens and decodes them with the last one.
  Draft(usize),
}

/// Chooses the window of one sequence, step by step.
///
/// A window of n yields E(n) tokens ([`expected_tokens`]) at the cost of V(n + 1) + D(n), verifying and drafting. The
/// window with the best E(n) / (V(n + 1) + D(n)) is taken, or none if plain decoding, 1 / V(1), is as good.
///
/// Estimates can be wrong, so losses are limited by an [`Account`]: a window is open only while the account covers its
/// worst outcome, that nothing is accepted. Without a window, single drafted tokens are compared with what follows them:
/// that costs the draft alone and shows when the drafter is right again.
#[derive(Debug, Clone)]
pub struct Window {
  limits: Limits,
  acceptance: Acceptance,
  share: Share,
  /// Steps until the next probe, and the pause after it.
  wait: u32,
  pause: u32,
  /// Right probes in a row.
  run: u32,
  /// Steps since the last plain one.
  since_plain: u32,
  since_retry: u32,
  /// Tokens that the drafter has to read before the next draft.
  unread: usize,
  /// It has begun to, and needs more than one step for it.
  reading: bool,
}

impl Window {
  /// A window within `limits`. `known` is what an earlier generation with the same drafter learned.
  pub fn new(limits: Limits, known: Option<&Acceptance>) -> Self {
    Self {
      limits,
      acceptance: known.map_or_else(|| Acceptance::new(PRIOR), Acceptance::inherited),
      share: Share::new(),
      wait: 0,
      pause: SHORTEST_PAUSE,
      run: 0,
      since_plain: 0,
      since_retry: 0,
      unread: 0,
      reading: false,
    }
  }

  /// How often drafted tokens are accepted.
  pub fn acceptance(&self) -> &Acceptance {
    &self.acceptance
  }

  /// Decides the next step. `room` is the most tokens that a draft may have here: less is left of the context, the
  /// batch or the tokens to generate. `unread`: tokens that the drafter would have to read first.
  pub fn choose(
    &mut self,
    costs: &Costs,
    account: &mut Account,
    beside: Beside,
    room: usize,
    unread: usize,
  ) -> Choice {
    let max = self.limits.max.min(room);
    self.unread = if self.reading { self.unread.max(unread) } else { unread };
    if !self.limits.adaptive {
      return if max == 0 { Choice::Plain } else { Choice::Draft(max) };
    }
    if max < self.limits.min {
      return Choice::Plain;
    }
    if !costs.known() || account.owes() && !self.reading && self.to_read(costs, beside) > LITTLE_READING {
      return self.plain();
    }
    self.since_retry += 1;
    let credit = self.share.credit(account);
    let best = self.best(costs, beside, max, credit);
    match self.retry(costs, beside, max, best, credit).unwrap_or(best) {
      // Drafting would pay, but the account is empty: saving up is quicker without probes.
      0 if self.best(costs, beside, max, f64::INFINITY) > 0 => self.plain(),
      0 => self.without(costs, account, beside, max),
      window if self.doubtful(costs, beside.rows + 1 + window) => self.plain(),
      window => {
        account.reserve(stake(costs, beside, window));
        self.since_plain += 1;
        Choice::Draft(window)
      }
    }
  }

  /// A window to try although it is not the best.
  fn retry(&mut self, costs: &Costs, beside: Beside, max: usize, best: usize, credit: f64) -> Option<usize> {
    let every = if best == 0 { RETRY_EVERY } else { TRY_EVERY };
    if self.since_retry < every || self.acceptance.recent() < RETRY_RATE {
      return None;
    }
    self.since_retry = 0;
    let unknown = || {
      (best + 1..=max).find(|window| *window >= self.limits.min && !costs.measured(beside.rows + 1 + window))
    };
    let window = if best == 0 { Some(self.limits.min) } else { unknown() };
    window.filter(|&window| stake(costs, beside, window) + self.to_read(costs, beside) <= credit)
  }

  /// Cost of what the drafter has to read, in tokens.
  fn to_read(&self, costs: &Costs, beside: Beside) -> f64 {
    reading(costs, beside, self.unread)
  }

  fn doubtful(&self, costs: &Costs, rows: usize) -> bool {
    costs.repeats(rows) && self.since_plain >= costs.trust(rows)
  }

  fn plain(&mut self) -> Choice {
    self.since_plain = 0;
    Choice::Plain
  }

  /// The window that promises most while it risks no more than `credit`; 0 for none.
  fn best(&self, costs: &Costs, beside: Beside, max: usize, credit: f64) -> usize {
    let acceptances = self.acceptance.by_place(max);
    let rows = beside.rows + 1;
    let plain = (beside.tokens + 1.0) / costs.ratio(rows);
    let mut best = (0, plain * WORTHWHILE);
    let mut untried = 0;
    for window in self.limits.min..=max {
      // A size that was never tried gets its chance while it could be the best, one after the other: only the next one
      // can be judged by those before it.
      let tried = costs.measured(rows + window);
      untried += u32::from(!tried);
      // On a mere hope nothing is read that could not be paid at once.
      let reading = if tried { 0.0 } else { self.to_read(costs, beside) };
      if !tried && (untried > 1 || costs.repeats(rows + window))
        || stake(costs, beside, window) + reading > credit
      {
        continue;
      }
      let ratio = costs.hopeful_ratio(rows + window);
      let tokens = beside.tokens + expected_tokens(&acceptances[..window]);
      let speed = tokens / (ratio + costs.draft(window));
      if speed > best.1 {
        best = (window, speed);
      }
    }
    best.0
  }

  fn without(&mut self, costs: &Costs, account: &mut Account, beside: Beside, max: usize) -> Choice {
    self.plain();
    if self.wait > 0 {
      self.wait -= 1;
      return Choice::Plain;
    }
    if !could_pay(costs, beside, self.limits.min..=max) {
      return Choice::Plain;
    }
    // A probe must leave enough to open a window if it finds the drafter right.
    let price = probe(costs, beside);
    let reading = self.to_read(costs, beside);
    if price + reading + stake(costs, beside, self.limits.min).min(DEAREST_RESERVE)
      > self.share.credit(account)
    {
      return Choice::Plain;
    }
    self.wait = self.pause;
    self.share.pay(account, price);
    Choice::Probe
  }

  /// A plain step is done.
  pub fn decoded(&mut self, account: &mut Account) {
    if self.limits.adaptive {
      self.share.tokens(account, 1.0);
    }
  }

  /// A probe is done: `right` if the drafted token was the one that followed.
  pub fn probed(&mut self, costs: &Costs, account: &mut Account, beside: Beside, right: bool) {
    self.acceptance.add(1, usize::from(right));
    account.owe(self.to_read(costs, beside));
    self.decoded(account);
    if right && self.run < LONGEST_RUN {
      // Followed up at once, so that a change shows within a few tokens.
      self.run += 1;
      self.wait = 0;
    } else {
      let often = if self.run > 0 { PAUSE_IF_OFTEN_RIGHT } else { 0 };
      self.pause = (self.pause * 2).clamp(SHORTEST_PAUSE, longest_pause(costs).max(often));
      self.wait = self.pause;
      self.run = 0;
    }
  }

  /// A draft is verified: of `drafted` tokens the first `accepted` were kept. An empty draft was a plain step.
  pub fn verified(
    &mut self,
    costs: &Costs,
    account: &mut Account,
    beside: Beside,
    drafted: usize,
    accepted: usize,
  ) {
    self.reading = drafted == 0 && self.unread > 0;
    if drafted == 0 {
      self.since_plain = 0;
      return self.decoded(account);
    }
    self.acceptance.add(drafted, accepted);
    if !self.limits.adaptive {
      // What a fixed window gains or loses was asked for: it is not for others to spend or to pay back.
      return;
    }
    #[allow(clippy::cast_precision_loss, reason = "windows are small")]
    let gained = accepted as f64;
    account.owe(self.to_read(costs, beside));
    self.share.pay(account, stake(costs, beside, drafted) - gained);
    self.share.tokens(account, gained + 1.0);
    self.pause = SHORTEST_PAUSE;
    self.wait = 0;
    self.run = 0;
  }
}
