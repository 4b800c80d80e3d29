//! Checks of the tensor table against the metadata.

use super::error::{damaged, unsupported};
use super::hyperparameters;
use super::tensor::TensorInfo;
use crate::error::Result;

/// Refuses tensors of types or shapes that llama.cpp would only notice while computing.
pub(super) fn validate(
  tensors: &[TensorInfo],
  architecture: &str,
  embedding: u64,
  tokens: Option<u64>,
) -> Result<()> {
  for tensor in tensors {
    check_type(tensor)?;
  }
  if hyperparameters::has_own_embedding_width(architecture) {
    return Ok(());
  }
  let Some(table) = tensors.iter().find(|tensor| tensor.name == "token_embd.weight") else { return Ok(()) };
  if table.dimension(0) != embedding {
    return Err(damaged(format_args!(
      "token_embd.weight has rows of {} elements, but embedding_length is {embedding}",
      table.dimension(0)
    )));
  }
  match tokens {
    Some(tokens) if table.dimension(1) != tokens => Err(damaged(format_args!(
      "token_embd.weight has {} rows for a vocabulary of {tokens} tokens",
      table.dimension(1)
    ))),
    _ => Ok(()),
  }
}

/// Matrices need a type with kernels; norms and biases are added to and multiplied with 32-bit floats.
fn check_type(tensor: &TensorInfo) -> Result<()> {
  let TensorInfo { name, kind, .. } = tensor;
  let matrix = tensor.dimensions.len() > 1 && name.ends_with(".weight");
  if matrix && (!kind.usable_as_matrix() || (kind.name == "I32" && !name.contains("tid2eid"))) {
    return Err(unsupported(format!(
      "tensor {name:?} has the type {}, which cannot be computed with",
      kind.name
    )));
  }
  let vector = ["norm.weight", ".bias"].iter().any(|end| name.ends_with(end));
  if vector && tensor.dimensions.len() == 1 && kind.name != "F32" {
    return Err(unsupported(format!(
      "tensor {name:?} has the type {}, but norms and biases are F32; use a file made by llama.cpp's tools",
      kind.name
    )));
  }
  Ok(())
}
