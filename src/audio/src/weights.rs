//! Files of weights (safetensors), by name and shape.

use crate::error::{AudioError, AudioErrorKind, Result};
use safetensors::{Dtype, SafeTensors};

/// The tensors of a file.
pub(crate) struct Weights<'a> {
  tensors: SafeTensors<'a>,
}

impl<'a> Weights<'a> {
  pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self> {
    let tensors =
      SafeTensors::deserialize(bytes).map_err(|error| invalid(format!("not a file of weights: {error}")))?;
    Ok(Self { tensors })
  }

  pub(crate) fn has(&self, name: &str) -> bool {
    self.tensors.tensor(name).is_ok()
  }

  /// The sizes of a tensor.
  pub(crate) fn shape(&self, name: &str) -> Result<Vec<usize>> {
    let view = self.tensors.tensor(name).map_err(|_| invalid(format!("the weights lack `{name}`")))?;
    Ok(view.shape().to_vec())
  }

  /// A tensor of single-precision numbers, which must have this shape and be finite.
  pub(crate) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
    let view = self.tensors.tensor(name).map_err(|_| invalid(format!("the weights lack `{name}`")))?;
    if view.dtype() != Dtype::F32 || view.shape() != shape {
      let (found, kind) = (view.shape(), view.dtype());
      return Err(invalid(format!("`{name}` is {kind:?} {found:?} where F32 {shape:?} is needed")));
    }
    let numbers: Vec<f32> =
      view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    if numbers.iter().any(|number| !number.is_finite()) {
      return Err(invalid(format!("`{name}` holds a number that is not finite")));
    }
    Ok(numbers)
  }
}

pub(crate) fn invalid(message: String) -> AudioError {
  AudioError::new(AudioErrorKind::ModelInvalid, message)
}
