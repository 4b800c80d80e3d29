//! A machine with known costs and a text on which the drafter's mistakes are known.

use local_inference_core::speculate::{Acceptance, Account, Beside, Choice, Costs, Limits, Window};

/// Costs in plain steps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
  /// Of a decode of k + 1 tokens, at index k; longer ones grow like the last two.
  pub(crate) decode: Vec<f64>,
  /// Of a drafted token.
  pub(crate) draft: f64,
  /// Every how many steps one takes ten times as long.
  pub(crate) hiccup: Option<usize>,
  /// Amplitude of the noise on every time, as a fraction.
  pub(crate) noise: f64,
  /// Of a token that the drafter reads because it was decoded without it.
  pub(crate) reading: f64,
  /// Tokens before the answer, which the drafter has not read.
  pub(crate) prompt: usize,
}

/// What x86 with two cores takes, measured with a 180 M model (`q8_0`).
pub(crate) fn cpu() -> Machine {
  let decode = vec![1.0, 1.28, 1.91, 1.72, 2.48, 2.18, 2.4, 2.63, 2.9];
  Machine { decode, draft: 0.07, ..Machine::default() }
}

/// A GPU with arithmetic to spare.
pub(crate) fn gpu() -> Machine {
  let decode = (0..9).map(|k| 1.0 + 0.03 * f64::from(k)).collect();
  Machine { decode, draft: 0.12, ..Machine::default() }
}

/// One on which only a window of 1 pays: speed-ups of 1.4, 0.9, 0.8 and 0.6 for windows 1, 2, 3 and 4 at 84 %.
pub(crate) fn steep() -> Machine {
  let decode = vec![1.0, 1.24, 2.6, 3.5, 5.6, 6.2, 7.3, 8.4, 9.5];
  Machine { decode, draft: 0.07, ..Machine::default() }
}

/// A fast core whose kernels for several tokens are slow: nothing pays but long drafts that are nearly all right.
pub(crate) fn lopsided() -> Machine {
  let decode = vec![1.0, 2.9, 3.3, 3.8, 4.3, 4.9, 5.3, 5.8, 6.2];
  Machine { decode, draft: 0.07, ..Machine::default() }
}

/// Two cores of Zen 4, a model of 400 MB as `q8_0`: kernels for several tokens that do not keep up with memory.
pub(crate) fn zen4() -> Machine {
  Machine { decode: vec![1.0, 1.98, 2.2, 2.5, 3.1, 3.3, 3.5, 3.56, 4.14], draft: 0.04, ..Machine::default() }
}

/// The same with a model as `f16`.
pub(crate) fn zen4_f16() -> Machine {
  let decode = vec![1.0, 1.55, 1.61, 1.69, 1.83, 1.94, 2.41, 2.57, 2.71];
  Machine { decode, draft: 0.04, ..Machine::default() }
}

/// The same with a model of 1.5 G parameters as `q4_k_m`, and one of 0.5 G that drafts.
pub(crate) fn zen4_draft_model() -> Machine {
  let decode = vec![1.0, 1.75, 2.4, 2.95, 3.6, 4.2, 5.4, 6.5, 7.0];
  Machine { decode, draft: 0.4, reading: 0.1, prompt: 40, ..Machine::default() }
}

impl Machine {
  pub(crate) fn decode(&self, rows: usize) -> f64 {
    let last = self.decode.len() - 1;
    let more = rows.saturating_sub(1 + last);
    let slope = self.decode[last] - self.decode[last - 1];
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    let beyond = more as f64 * slope;
    self.decode[(rows - 1).min(last)] + beyond
  }
}

/// A generator of numbers in 0..1.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
  #[allow(clippy::cast_precision_loss, reason = "53 bits")]
  pub(crate) fn next(&mut self) -> f64 {
    self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((self.0 >> 11) as f64) / ((1_u64 << 53) as f64)
  }
}

/// Whether the drafter is right at each token, independently with `rate`.
pub(crate) fn text(rate: f64, tokens: usize, seed: u64) -> Vec<bool> {
  let mut random = Random(seed);
  (0..tokens).map(|_| random.next() < rate).collect()
}

/// What a run came to.
#[derive(Debug, Default)]
pub(crate) struct Run {
  pub(crate) time: f64,
  pub(crate) tokens: usize,
  /// Window of the step that gave each token.
  pub(crate) windows: Vec<usize>,
}

impl Run {
  /// Speed in units of plain decoding.
  #[allow(clippy::cast_precision_loss, reason = "small numbers")]
  pub(crate) fn speed_up(&self) -> f64 {
    self.tokens as f64 / self.time
  }
}

pub(crate) fn limits(min: usize, max: usize) -> Limits {
  Limits { min, max, adaptive: true }
}

pub(crate) fn fixed(window: usize) -> Limits {
  Limits { min: window, max: window, adaptive: false }
}

/// Generates the tokens of `text` one step after the other.
pub(crate) fn run(machine: &Machine, limits: Limits, text: &[bool]) -> Run {
  run_against(machine, limits, text.len(), |at, _| text[at])
}

/// The same where `right(token, window)` says whether the drafter is right, knowing the window of the step.
pub(crate) fn run_against(
  machine: &Machine,
  limits: Limits,
  tokens: usize,
  right: impl FnMut(usize, usize) -> bool,
) -> Run {
  Context::default().generate(machine, limits, tokens, right)
}

/// What the generations of a context share.
#[derive(Default)]
pub(crate) struct Context {
  costs: Costs,
  account: Account,
  known: Option<Acceptance>,
}

impl Context {
  pub(crate) fn generate(
    &mut self,
    machine: &Machine,
    limits: Limits,
    tokens: usize,
    mut right: impl FnMut(usize, usize) -> bool,
  ) -> Run {
    let Self { costs, account, known } = self;
    let (mut window, mut run) = (Window::new(limits, known.as_ref()), Run::default());
    let (mut random, mut steps) = (Random(99), 0);
    let mut missed = machine.prompt;
    costs.interrupted();
    while run.tokens < tokens {
      let room = (tokens - run.tokens).saturating_sub(1);
      account.begin();
      let unread = if machine.reading > 0.0 { missed } else { 0 };
      let step = window.choose(costs, account, Beside::default(), room, unread);
      let drafted = match step {
        Choice::Plain => 0,
        Choice::Probe => 1,
        Choice::Draft(window) => window,
      };
      let verified = if step == Choice::Probe { 0 } else { drafted };
      steps += 1;
      let mut pace = 1.0 + machine.noise * (2.0 * random.next() - 1.0);
      if machine.hiccup.is_some_and(|every| steps % every == 0) {
        pace *= 10.0;
      }
      #[allow(clippy::cast_precision_loss, reason = "small numbers")]
      let read = if drafted > 0 { machine.reading * unread as f64 } else { 0.0 };
      #[allow(clippy::cast_precision_loss, reason = "small numbers")]
      let (draft, decode) =
        ((machine.draft * drafted as f64 + read) * pace, machine.decode(verified + 1) * pace);
      if drafted > 0 {
        costs.drafted(drafted, unread, draft);
      }
      costs.decoded(verified + 1, decode);
      // The loss of a hiccup is the machine's.
      run.time += (draft + decode) / pace;
      let accepted = (0..drafted).take_while(|index| right(run.tokens + index, verified)).count();
      match step {
        Choice::Plain => window.decoded(account),
        Choice::Probe => window.probed(costs, account, Beside::default(), accepted > 0),
        Choice::Draft(_) => window.verified(costs, account, Beside::default(), drafted, accepted),
      }
      let gained = if step == Choice::Probe { 1 } else { accepted + 1 };
      run.windows.extend(std::iter::repeat_n(verified, gained));
      run.tokens += gained;
      missed = if drafted > 0 { 1 } else { missed + 1 };
    }
    *known = Some(window.acceptance().clone());
    run
  }
}
