//! Readable names of how the weights are quantised.

use std::collections::BTreeMap;

use super::tensor::TensorInfo;

/// Names of `general.file_type` as people know them from file names, by number.
const FILE_TYPES: [(u32, &str); 36] = [
  (0, "F32"),
  (1, "F16"),
  (2, "Q4_0"),
  (3, "Q4_1"),
  (7, "Q8_0"),
  (8, "Q5_0"),
  (9, "Q5_1"),
  (10, "Q2_K"),
  (11, "Q3_K_S"),
  (12, "Q3_K_M"),
  (13, "Q3_K_L"),
  (14, "Q4_K_S"),
  (15, "Q4_K_M"),
  (16, "Q5_K_S"),
  (17, "Q5_K_M"),
  (18, "Q6_K"),
  (19, "IQ2_XXS"),
  (20, "IQ2_XS"),
  (21, "Q2_K_S"),
  (22, "IQ3_XS"),
  (23, "IQ3_XXS"),
  (24, "IQ1_S"),
  (25, "IQ4_NL"),
  (26, "IQ3_S"),
  (27, "IQ3_M"),
  (28, "IQ2_S"),
  (29, "IQ2_M"),
  (30, "IQ4_XS"),
  (31, "IQ1_M"),
  (32, "BF16"),
  (36, "TQ1_0"),
  (37, "TQ2_0"),
  (38, "MXFP4_MOE"),
  (39, "NVFP4"),
  (40, "Q1_0"),
  (41, "Q2_0"),
];

/// llama.cpp marks a file type that it guessed with this bit.
const GUESSED: u32 = 1024;

/// Name of the quantisation: the file type's, else that of the type that most elements have, else `none`.
pub(super) fn name(file_type: Option<u32>, tensors: &[TensorInfo]) -> &'static str {
  let known = file_type.and_then(|code| FILE_TYPES.iter().find(|entry| entry.0 == code & !GUESSED));
  if let Some(entry) = known {
    return entry.1;
  }
  let mut elements: BTreeMap<&'static str, u64> = BTreeMap::new();
  for tensor in tensors {
    let sum = elements.entry(tensor.kind.name).or_default();
    *sum = sum.saturating_add(tensor.elements());
  }
  elements.into_iter().max_by_key(|entry| entry.1).map_or("none", |entry| entry.0)
}
