//! What is left of echo and noise.

use crate::error::{AudioError, Result};

/// Scale-invariant signal-to-distortion ratio of `heard` to `clean` in dB (J. Le Roux et al., ICASSP 2019): how much louder
/// the part of `heard` that is `clean`, at any level, is than the rest. Infinite if there is no rest. No mean is
/// subtracted. Fails with `InvalidInput` if lengths differ, a sample is not finite, or either is silent.
pub fn si_sdr_db(clean: &[f32], heard: &[f32]) -> Result<f64> {
  let (own, other) = energies(clean, heard)?;
  if own == 0.0 || other == 0.0 {
    return Err(AudioError::invalid("silence has no signal-to-distortion ratio"));
  }
  let product: f64 = clean.iter().zip(heard).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
  let scale = product / own;
  let rest: f64 = clean.iter().zip(heard).map(|(a, b)| (f64::from(*a) * scale - f64::from(*b)).powi(2)).sum();
  Ok(10.0 * (scale * scale * own / rest).log10())
}

/// Echo return loss enhancement in dB (ITU-T G.168): the power of the microphone over the power of what a canceller left
/// of it, while only the echo is heard. Infinite if nothing is left. Fails with `InvalidInput` if lengths differ, a sample is
/// not finite, or the microphone is silent.
pub fn erle_db(microphone: &[f32], left: &[f32]) -> Result<f64> {
  let (before, after) = energies(microphone, left)?;
  if before == 0.0 {
    return Err(AudioError::invalid("nothing can be taken away from silence"));
  }
  Ok(10.0 * (before / after).log10())
}

fn energies(a: &[f32], b: &[f32]) -> Result<(f64, f64)> {
  if a.len() != b.len() {
    return Err(AudioError::invalid(format!("{} samples beside {}: give as many of both", a.len(), b.len())));
  }
  if !a.iter().chain(b).all(|sample| sample.is_finite()) {
    return Err(AudioError::invalid("a sample is not a finite number"));
  }
  let energy = |samples: &[f32]| samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
  Ok((energy(a), energy(b)))
}
