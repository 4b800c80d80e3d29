//! How far decoded values are from the original: the relative squared error on several sources of values.

use super::checks::{About, Checks};
use crate::error::KernelError;
use crate::format::Format;
use crate::random::SplitMix64;
use crate::rows::{Rows, encode};
use crate::simd::InstructionSet;

/// Values of one tensor of a real model.
#[derive(Debug, Clone)]
pub struct Weights {
  /// A name of [`Weights::NAMES`].
  pub name: String,
  /// Whole rows of the tensor, one after the other; a multiple of 256 values.
  pub values: Vec<f32>,
}

impl Weights {
  /// The tensors that there are figures for, as `model tensor`.
  pub const NAMES: [&'static str; 3] =
    ["gemma3-270m token_embd", "gemma3-270m attn_v", "smollm2-135m token_embd"];
}

/// How far the error may be from the figure, relative to it.
fn tolerance(format: Format, source: &str) -> f64 {
  match (format, source) {
    // Its fourth moment is infinite: two samples of half a million differ by so much.
    (_, "student-t4") => 0.02,
    // The figures have two digits, and their projection was another draw from the same distribution.
    (Format::Qjl1_256, name) if Weights::NAMES.contains(&name) => 0.05,
    // Rare large weights decide in blocks of 256, and which rows the figures are of is not known.
    (Format::Tbq3K | Format::Tbq4K, name) if Weights::NAMES.contains(&name) => 0.02,
    _ => 0.01,
  }
}

/// Relative squared errors, measured with another program before this one was written, in the order of [`Format::ALL`].
const FIGURES: [(&str, [f64; 8]); 6] = [
  ("normal", [0.032_42, 0.008_92, 0.034_32, 0.009_44, 0.021_73, 0.78, 0.009_29, 0.010_64]),
  ("student-t4", [0.031_70, 0.008_65, 0.035_61, 0.009_80, 0.021_47, 0.78, 0.009_08, 0.010_46]),
  (OUTLIERS, [0.034_09, 0.007_89, 0.042_38, 0.012_00, 0.019_96, 0.79, 0.008_18, 0.009_55]),
  ("gemma3-270m token_embd", [0.032_04, 0.008_78, 0.035_84, 0.009_93, 0.021_54, 0.79, 0.009_23, 0.010_58]),
  ("gemma3-270m attn_v", [0.032_35, 0.008_91, 0.034_34, 0.009_44, 0.021_67, 0.78, 0.009_29, 0.010_64]),
  ("smollm2-135m token_embd", [0.031_93, 0.008_85, 0.035_04, 0.009_75, 0.021_74, 0.79, 0.009_31, 0.010_68]),
];

/// Values of each made source.
const SAMPLES: usize = 1 << 19;
const ROW: usize = 1024;
const OUTLIERS: &str = "every 97th column x20";

#[allow(clippy::cast_possible_truncation)] // kernels take f32
fn normal(seed: u64) -> Vec<f32> {
  SplitMix64::new(seed).gaussians(SAMPLES).into_iter().map(|value| value as f32).collect()
}

/// Student's t with four degrees of freedom: normal over the root of a mean of four squares.
#[allow(clippy::cast_possible_truncation)] // kernels take f32
fn student_t4(seed: u64) -> Vec<f32> {
  let values = SplitMix64::new(seed).gaussians(5 * SAMPLES);
  let sample = |five: &[f64; 5]| {
    let square: f64 = five[1..].iter().map(|value| value * value).sum();
    (five[0] / (square / 4.0).sqrt()) as f32
  };
  values.as_chunks::<5>().0.iter().map(sample).collect()
}

fn outlier_columns(seed: u64) -> Vec<f32> {
  let mut values = normal(seed);
  for row in values.chunks_exact_mut(ROW) {
    for value in row.iter_mut().step_by(97) {
      *value *= 20.0;
    }
  }
  values
}

/// |x - decoded|^2 / |x|^2
fn relative_error(format: Format, values: &[f32]) -> Result<f64, KernelError> {
  let bytes = encode(format, values)?;
  let mut decoded = vec![0.0; values.len()];
  Rows::new(format, values.len(), &bytes)?.decode(InstructionSet::best(), 0, &mut decoded)?;
  let squares =
    |pairs: &mut dyn Iterator<Item = f32>| pairs.map(|value| f64::from(value).powi(2)).sum::<f64>();
  let error = squares(&mut values.iter().zip(&decoded).map(|(value, decoded)| value - decoded));
  Ok(error / squares(&mut values.iter().copied()))
}

pub(super) fn check(checks: &mut Checks<'_>, weights: &[Weights]) -> Result<(), KernelError> {
  for (source, figures) in FIGURES {
    let values = match source {
      "normal" => normal(1),
      "student-t4" => student_t4(2),
      OUTLIERS => outlier_columns(3),
      name => {
        let Some(weights) = weights.iter().find(|weights| weights.name == name) else {
          checks.skip("distortion", name, "the model is not here");
          continue;
        };
        weights.values.clone()
      }
    };
    for (format, figure) in Format::ALL.into_iter().zip(figures) {
      checks.go_on()?;
      check_figure(checks, source, format, &values, figure)?;
    }
  }
  Ok(())
}

fn check_figure(
  checks: &mut Checks<'_>,
  source: &str,
  format: Format,
  values: &[f32],
  figure: f64,
) -> Result<(), KernelError> {
  if matches!(format, Format::Tbq3K | Format::Tbq4K) && source == OUTLIERS {
    let reason = "the error depends on how many large columns a block has, which the figure does not tell";
    checks.skip("distortion", &format!("{} of {source}", format.name()), reason);
    return Ok(());
  }
  // The trellis search takes a microsecond a value.
  let most = if format == Format::Tbq3Tcq { SAMPLES } else { values.len() };
  let error = relative_error(format, &values[..most.min(values.len())])?;
  // The codebook of the trellis is trained here; a smaller error than the figure's is no failure.
  let ratio = if format == Format::Tbq3Tcq { (error / figure).max(1.0) } else { error / figure };
  let about = About { gate: "distortion", format: format.name(), isa: None, on: source };
  checks.close(about, std::iter::once((ratio, 1.0)), tolerance(format, source));
  Ok(())
}
