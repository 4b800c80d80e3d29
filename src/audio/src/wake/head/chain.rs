//! Layers one after the other, down to one number.

use super::refusal::unsupported;
use crate::error::Result;
use crate::nn::{Activation, Level, Linear, sigmoid};
use crate::weights::invalid;

pub(super) enum Op {
  Linear { linear: Linear, inputs: usize, outputs: usize },
  Norm { gain: Vec<f32>, bias: Vec<f32>, epsilon: f32 },
  Relu,
  Sigmoid,
}

impl Op {
  /// A dense layer; `matrix` has a row for each output.
  pub(super) fn linear(level: Level, matrix: &[f32], (rows, columns): (usize, usize), bias: &[f32]) -> Self {
    let linear = Linear::new(level, columns, bias, |output, input| matrix[output * columns + input]);
    Self::Linear { linear, inputs: columns, outputs: rows }
  }
}

/// What a head computes.
pub(super) struct Network {
  pub(super) embeddings: usize,
  pub(super) main: Chain,
  /// Scores of at least this are judged again by a second network, whose score then counts.
  pub(super) verifier: Option<(f32, Chain)>,
}

pub(super) struct Chain {
  ops: Vec<Op>,
  values: Vec<f32>,
  next: Vec<f32>,
}

impl Chain {
  /// Fails unless the layers fit each other and end in one score in 0..=1.
  pub(super) fn new(inputs: usize, ops: Vec<Op>) -> Result<Self> {
    let (mut size, mut largest) = (inputs, inputs);
    for op in &ops {
      match op {
        Op::Linear { inputs, outputs, .. } => {
          if *inputs != size {
            return Err(invalid(format!("a layer of {inputs} inputs follows one of {size} outputs")));
          }
          size = *outputs;
        }
        Op::Norm { gain, .. } if gain.len() != size => {
          return Err(invalid(format!(
            "a normalisation of {} follows a layer of {size} outputs",
            gain.len()
          )));
        }
        _ => {}
      }
      largest = largest.max(size);
    }
    if size != 1 {
      return Err(unsupported(format!("a head with {size} outputs: only heads for one phrase are possible")));
    }
    if !matches!(ops.last(), Some(Op::Sigmoid)) {
      return Err(unsupported("a head that does not end in a sigmoid".to_owned()));
    }
    Ok(Self { ops, values: vec![0.0; largest], next: vec![0.0; largest] })
  }

  pub(super) fn run(&mut self, input: &[f32]) -> f32 {
    self.values[..input.len()].copy_from_slice(input);
    let mut size = input.len();
    for op in &self.ops {
      match op {
        Op::Linear { linear, outputs, .. } => {
          linear.apply_to_one(&self.values[..size], &mut self.next[..*outputs], Activation::NONE);
          std::mem::swap(&mut self.values, &mut self.next);
          size = *outputs;
        }
        Op::Norm { gain, bias, epsilon } => normalise(&mut self.values[..size], gain, bias, *epsilon),
        Op::Relu => self.values[..size].iter_mut().for_each(|value| *value = value.max(0.0)),
        Op::Sigmoid => self.values[..size].iter_mut().for_each(|value| *value = sigmoid(*value)),
      }
    }
    self.values[0]
  }
}

/// Layer normalisation (Ba, Kiros and Hinton 2016).
fn normalise(values: &mut [f32], gain: &[f32], bias: &[f32], epsilon: f32) {
  let count = values.len() as f32;
  let mean = values.iter().sum::<f32>() / count;
  let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f32>() / count;
  let scale = 1.0 / (variance + epsilon).sqrt();
  for ((value, gain), bias) in values.iter_mut().zip(gain).zip(bias) {
    *value = (*value - mean) * scale * gain + bias;
  }
}
