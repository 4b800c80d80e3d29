//! The kernels against a second implementation, against themselves on other instruction sets, and against hostile bytes.

mod checks;
mod distortion;
mod evidence;
mod fused;
mod hostile;
mod reference;
mod scores;

use std::time::Instant;

pub use distortion::Weights;
pub use evidence::{Build, Evidence, Gate, InstructionSetEvidence, Processor, Skip};

use crate::error::KernelError;
use crate::simd::InstructionSet;
use checks::Checks;
use reference::Reference;

/// What `src/kernels/fixtures/reference.json` held when this was compiled.
const REFERENCE: &str = include_str!("../fixtures/reference.json");

/// Runs every gate: a quarter of a minute on an idle core. `stop` is asked again and again; when it says so, the gates end.
///
/// `weights`: rows of real models whose distortion is measured as well; what is not there is listed as skipped.
///
/// # Errors
/// `CANCELLED`, or what a kernel refused although it had no reason to; a gate that merely fails is part of the evidence.
///
/// # Panics
/// If the compiled-in reference is not what this version reads.
pub fn verify(weights: &[Weights], stop: &dyn Fn() -> bool) -> Result<Evidence, KernelError> {
  let start = Instant::now();
  let reference: Reference =
    serde_json::from_str(REFERENCE).expect("the reference was written for this version");
  let (present, absent) = InstructionSet::all();
  let mut checks = Checks::new(stop);
  for isa in &present {
    scores::check(&mut checks, &reference, *isa)?;
    fused::check(&mut checks, &reference.attention, *isa)?;
    hostile::check(&mut checks, *isa)?;
  }
  scores::check_encoder(&mut checks, &reference)?;
  distortion::check(&mut checks, weights)?;
  Ok(checks.evidence(&present, &absent, start.elapsed()))
}
