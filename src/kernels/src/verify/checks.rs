use std::time::Duration;

use super::evidence::{Build, Evidence, Gate, InstructionSetEvidence, Processor, Skip};
use crate::error::KernelError;
use crate::simd::{AbsentInstructionSet, InstructionSet};

/// The gates so far.
pub(super) struct Checks<'a> {
  stop: &'a dyn Fn() -> bool,
  gates: Vec<Gate>,
  skipped: Vec<Skip>,
}

/// What a gate is about.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
  pub(super) gate: &'static str,
  pub(super) format: &'a str,
  pub(super) isa: Option<InstructionSet>,
  pub(super) on: &'a str,
}

impl<'a> Checks<'a> {
  pub(super) fn new(stop: &'a dyn Fn() -> bool) -> Self {
    Self { stop, gates: Vec::new(), skipped: Vec::new() }
  }

  /// Comes before each piece of work of a second or less.
  ///
  /// # Errors
  /// `CANCELLED`
  pub(super) fn go_on(&self) -> Result<(), KernelError> {
    if (self.stop)() { Err(KernelError::Cancelled) } else { Ok(()) }
  }

  /// Pairs that may differ by `tolerance`. A difference that is not a number does not pass.
  pub(super) fn close(&mut self, about: About<'_>, pairs: impl Iterator<Item = (f64, f64)>, tolerance: f64) {
    let (mut count, mut passed, mut largest) = (0, 0, 0.0_f64);
    for (actual, expected) in pairs {
      let difference = (actual - expected).abs();
      count += 1;
      passed += usize::from(difference <= tolerance);
      largest = if difference.is_nan() { f64::NAN } else { largest.max(difference) };
    }
    // JSON has no NaN; `null` beside a tolerance says the same.
    let largest_difference = largest.is_finite().then_some(largest);
    self.add(about, count, passed, largest_difference, Some(tolerance));
  }

  /// Answers that are right or wrong.
  pub(super) fn all(&mut self, about: About<'_>, answers: impl Iterator<Item = bool>) {
    let (mut count, mut passed) = (0, 0);
    for right in answers {
      count += 1;
      passed += usize::from(right);
    }
    self.add(about, count, passed, None, None);
  }

  /// Gates of the same name, format, instruction set and object are one.
  fn add(
    &mut self,
    about: About<'_>,
    count: usize,
    passed: usize,
    largest: Option<f64>,
    tolerance: Option<f64>,
  ) {
    let instruction_set = about.isa.map(InstructionSet::name);
    let same = |gate: &&mut Gate| {
      (gate.gate, &*gate.format, gate.instruction_set, &*gate.on)
        == (about.gate, about.format, instruction_set, about.on)
    };
    if let Some(gate) = self.gates.iter_mut().find(same) {
      gate.count += count;
      gate.passed += passed;
      gate.largest_difference = gate.largest_difference.zip(largest).map(|(a, b)| a.max(b));
      gate.ok = gate.passed == gate.count;
      return;
    }
    self.gates.push(Gate {
      gate: about.gate,
      format: about.format.to_owned(),
      instruction_set,
      on: about.on.to_owned(),
      count,
      passed,
      largest_difference: largest,
      tolerance,
      // Nothing compared is nothing shown.
      ok: count > 0 && passed == count,
    });
  }

  pub(super) fn skip(&mut self, gate: &'static str, on: &str, reason: &str) {
    self.skipped.push(Skip { gate, on: on.to_owned(), reason: reason.to_owned() });
  }

  pub(super) fn evidence(
    self,
    present: &[InstructionSet],
    absent: &[AbsentInstructionSet],
    elapsed: Duration,
  ) -> Evidence {
    let ran = present.iter().map(|set| InstructionSetEvidence {
      instruction_set: set.name(),
      ran: true,
      reason: None,
    });
    let did_not = absent.iter().map(|set| InstructionSetEvidence {
      instruction_set: set.name,
      ran: false,
      reason: Some(set.reason),
    });
    Evidence {
      schema: "local-inference/kernel-evidence",
      schema_version: 1,
      ok: !self.gates.is_empty() && self.gates.iter().all(|gate| gate.ok),
      build: Build { version: env!("CARGO_PKG_VERSION"), debug: cfg!(debug_assertions) },
      processor: Processor {
        architecture: std::env::consts::ARCH,
        system: std::env::consts::OS,
        threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
      },
      instruction_sets: ran.chain(did_not).collect(),
      gates: self.gates,
      skipped: self.skipped,
      seconds: elapsed.as_secs_f64(),
    }
  }
}

#[cfg(test)]
mod tests {
  use super::*;

  const ABOUT: About<'_> = About { gate: "test", format: "none", isa: None, on: "nothing" };

  fn only_gate(fill: impl FnOnce(&mut Checks<'_>)) -> (Gate, bool) {
    let mut checks = Checks::new(&|| false);
    fill(&mut checks);
    let mut evidence = checks.evidence(&[], &[], Duration::ZERO);
    (evidence.gates.remove(0), evidence.ok)
  }

  #[test]
  fn a_difference_above_the_tolerance_fails_the_gate_and_the_evidence() {
    let (gate, ok) = only_gate(|checks| checks.close(ABOUT, [(1.0, 1.0), (2.0, 2.1)].into_iter(), 0.01));
    assert_eq!((gate.count, gate.passed, gate.ok, ok), (2, 1, false, false));
    assert!(gate.largest_difference.is_some_and(|difference| (difference - 0.1).abs() < 1e-12));
  }

  #[test]
  fn not_a_number_fails() {
    let (gate, ok) = only_gate(|checks| checks.close(ABOUT, [(f64::NAN, 1.0)].into_iter(), 1e9));
    assert_eq!((gate.passed, gate.largest_difference, ok), (0, None, false));
  }

  #[test]
  fn a_gate_that_compared_nothing_fails() {
    assert!(!only_gate(|checks| checks.all(ABOUT, std::iter::empty())).1);
  }

  #[test]
  fn parts_of_a_gate_are_counted_together() {
    let (gate, _) = only_gate(|checks| {
      checks.close(ABOUT, [(1.0, 1.5)].into_iter(), 1.0);
      checks.close(ABOUT, [(1.0, 1.25)].into_iter(), 1.0);
    });
    assert_eq!((gate.count, gate.largest_difference), (2, Some(0.5)));
  }
}
