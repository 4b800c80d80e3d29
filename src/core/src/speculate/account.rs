//! What drafting may lose.

/// What drafting may lose against plain decoding: this fraction of the tokens, and [`START`] once.
const ALLOWANCE: f64 = 0.02;
/// Plain steps that may be lost before anything is known.
const START: f64 = 1.0;
/// Most plain steps that a request may lose of what earlier ones gained.
const INHERITED: f64 = 6.0;
/// Most plain steps that earlier gains may be spent of: after a change of the text this is all that can be lost.
const MOST: f64 = 12.0;
/// The part of [`ALLOWANCE`] that goes to what is owed, while something is.
const REPAYMENT: f64 = 0.01;

/// The account of a context, in plain steps.
///
/// A step earns the tokens that it yields beyond plain decoding and pays what it costs beyond. The account grows by
/// [`ALLOWANCE`] with each token and is capped, so that no past gain pays for a long loss. All requests of a context
/// share it: a gain of one pays for the next one's first try, and however many there are, together they lose no more.
///
/// A drafter that has to read what was decoded without it costs all of that at once, before it can gain anything. This is
/// owed, not paid: drafting goes on, but nothing more is read until gains and allowance have earned it back.
#[derive(Debug, Clone)]
pub struct Account {
  credit: f64,
  /// What the windows of the step in hand may cost.
  reserved: f64,
  /// What reading has cost and drafting has not yet earned back.
  owed: f64,
}

impl Default for Account {
  fn default() -> Self {
    Self { credit: START, reserved: 0.0, owed: 0.0 }
  }
}

impl Account {
  /// The account of a context that has generated nothing.
  pub fn new() -> Self {
    Self::default()
  }

  /// A step begins.
  pub fn begin(&mut self) {
    self.reserved = 0.0;
  }

  pub(super) fn reserve(&mut self, steps: f64) {
    self.reserved += steps;
  }

  /// Whether what was read has yet to be earned back: until then nothing more is read.
  pub(super) fn owes(&self) -> bool {
    self.owed > 0.0
  }

  pub(super) fn owe(&mut self, steps: f64) {
    self.owed += steps;
  }
}

/// What one request may lose: of the context's account, no more than [`INHERITED`] that it did not gain itself.
#[derive(Debug, Clone)]
pub(super) struct Share {
  credit: f64,
}

impl Share {
  pub(super) fn new() -> Self {
    Self { credit: INHERITED }
  }

  /// Plain steps that may still be lost in this step.
  pub(super) fn credit(&self, account: &Account) -> f64 {
    self.credit.min(account.credit - account.reserved)
  }

  pub(super) fn pay(&mut self, account: &mut Account, steps: f64) {
    account.owed = (account.owed + steps.min(0.0)).max(0.0);
    for credit in [&mut self.credit, &mut account.credit] {
      *credit = (*credit - steps).min(MOST);
    }
  }

  /// This many tokens were generated.
  pub(super) fn tokens(&mut self, account: &mut Account, count: f64) {
    let repaid = if account.owes() { REPAYMENT * count } else { 0.0 };
    for credit in [&mut self.credit, &mut account.credit] {
      *credit = (*credit + ALLOWANCE * count - repaid).min(MOST);
    }
    account.owed = (account.owed - repaid).max(0.0);
  }
}
