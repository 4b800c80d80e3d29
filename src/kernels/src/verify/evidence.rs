use serde::Serialize;

/// What was checked, where, and with what result. docs/kernels.md describes the JSON.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
  /// `local-inference/kernel-evidence`
  pub schema: &'static str,
  /// 1; rises when a field changes its meaning or goes.
  pub schema_version: u32,
  /// Whether every gate holds.
  pub ok: bool,
  /// What was checked.
  pub build: Build,
  /// Where.
  pub processor: Processor,
  /// Each set of instructions that there are kernels for.
  pub instruction_sets: Vec<InstructionSetEvidence>,
  /// Each comparison.
  pub gates: Vec<Gate>,
  /// What was not compared, and why.
  pub skipped: Vec<Skip>,
  /// Wall time.
  pub seconds: f64,
}

/// The program that ran the gates.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Build {
  /// Of the package.
  pub version: &'static str,
  /// Whether it was compiled with debug assertions.
  pub debug: bool,
}

/// The machine.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Processor {
  /// Such as `x86_64` or `aarch64`.
  pub architecture: &'static str,
  /// Such as `linux`.
  pub system: &'static str,
  /// Threads that run at the same time.
  pub threads: usize,
}

/// Whether the kernels of one set of instructions ran.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstructionSetEvidence {
  /// `portable`, `avx2`, `avx512` or `neon`.
  pub instruction_set: &'static str,
  /// Whether the gates ran on it.
  pub ran: bool,
  /// Why not.
  #[serde(skip_serializing_if = "Option::is_none")]
  pub reason: Option<&'static str>,
}

/// One comparison.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
  /// What is compared, such as `scores`.
  pub gate: &'static str,
  /// Of which format, or keys and values joined by a slash.
  pub format: String,
  /// Which instructions computed it; none where all give the same.
  #[serde(skip_serializing_if = "Option::is_none")]
  pub instruction_set: Option<&'static str>,
  /// On what: a head length, a number of blocks, a source of values.
  pub on: String,
  /// Values that were compared.
  pub count: usize,
  /// Those within the tolerance.
  pub passed: usize,
  /// The largest difference; null where whole answers are compared.
  pub largest_difference: Option<f64>,
  /// The largest allowed difference; null where the answer must be the same.
  pub tolerance: Option<f64>,
  /// Whether all passed.
  pub ok: bool,
}

/// A comparison that was left out.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skip {
  /// What.
  pub gate: &'static str,
  /// On what.
  pub on: String,
  /// Why.
  pub reason: String,
}
