//! Heads: the small network that scores one phrase on the last embeddings.

mod chain;
mod compile;
mod onnx;
mod refusal;

use super::features::EMBEDDING;
use crate::error::Result;
use crate::nn::Level;
use crate::weights::{Weights, invalid};
use chain::{Chain, Network, Op};
use refusal::unsupported;

/// Most embeddings that a head may look at: 10 seconds.
const MOST_EMBEDDINGS: usize = 125;

/// A head, made from a file.
pub struct Head(Network);

impl Head {
  /// Reads a head: an ONNX file of the forms that openWakeWord trains, or this package's own form (safetensors with
  /// `layer.N.weight` [outputs, inputs], `layer.N.bias`, and where a normalisation follows `norm.N.weight`, `norm.N.bias`;
  /// `ReLU` between the layers, a sigmoid behind the last). Fails with `ModelInvalid` for a damaged file and with
  /// `ModelUnsupported`, naming what it is, for a network of another form.
  pub fn parse(bytes: &[u8], level: Level) -> Result<Self> {
    // An ONNX file is a protobuf message whose first field is its version; safetensors begins with a length and `{`.
    let network =
      if bytes.get(8) == Some(&b'{') { from_weights(bytes, level)? } else { compile::network(bytes, level)? };
    if network.embeddings == 0 || network.embeddings > MOST_EMBEDDINGS {
      let count = network.embeddings;
      return Err(unsupported(format!(
        "a head that looks at {count} embeddings: 1 to {MOST_EMBEDDINGS} are possible"
      )));
    }
    Ok(Self(network))
  }

  /// How many embeddings, of 80 ms each, the head looks at.
  pub fn embeddings(&self) -> usize {
    self.0.embeddings
  }

  /// The score, 0..=1, of the last embeddings, the oldest first.
  ///
  /// # Panics
  /// If there are not exactly as many as [`Self::embeddings`].
  pub fn score(&mut self, embeddings: &[f32]) -> f32 {
    assert_eq!(embeddings.len(), self.0.embeddings * EMBEDDING, "as many embeddings as the head looks at");
    let score = self.0.main.run(embeddings);
    match &mut self.0.verifier {
      Some((from, chain)) if score >= *from => chain.run(embeddings),
      _ => score,
    }
  }
}

/// This package's own form.
fn from_weights(bytes: &[u8], level: Level) -> Result<Network> {
  let weights = Weights::parse(bytes)?;
  let mut ops = Vec::new();
  let mut inputs = None;
  for layer in 0.. {
    let name = format!("layer.{layer}.weight");
    if !weights.has(&name) {
      break;
    }
    let shape = weights.shape(&name)?;
    let &[rows, columns] = shape.as_slice() else { return Err(invalid(format!("`{name}` is not a matrix"))) };
    let matrix = weights.get(&name, &shape)?;
    let bias = weights.get(&format!("layer.{layer}.bias"), &[rows])?;
    if layer > 0 {
      ops.push(Op::Relu);
    }
    inputs.get_or_insert(columns);
    ops.push(Op::linear(level, &matrix, (rows, columns), &bias));
    let norm = format!("norm.{layer}.weight");
    if weights.has(&norm) {
      let (gain, bias) = (weights.get(&norm, &[rows])?, weights.get(&format!("norm.{layer}.bias"), &[rows])?);
      ops.push(Op::Norm { gain, bias, epsilon: 1e-5 });
    }
  }
  ops.push(Op::Sigmoid);
  let inputs = inputs.ok_or_else(|| invalid("the weights lack `layer.0.weight`".to_owned()))?;
  if inputs % EMBEDDING != 0 {
    return Err(unsupported(format!("a head of {inputs} inputs: they are not embeddings of {EMBEDDING}")));
  }
  Ok(Network { embeddings: inputs / EMBEDDING, main: Chain::new(inputs, ops)?, verifier: None })
}
