//! A matrix that is multiplied with parts of an input: a dense layer, or a convolution.

use super::kernel::{Call, run, width};
use super::layer::{Activation, Linear, Span};
use super::level::Level;

impl Linear {
  /// A matrix of `outputs` times `inputs` numbers, `weight(output, input)`. No bias: 0.
  pub(crate) fn new(level: Level, inputs: usize, bias: &[f32], weight: impl Fn(usize, usize) -> f32) -> Self {
    let outputs = bias.len();
    let (lanes, choices) = width(level);
    // As little padding as possible; of equals the larger, which reads an input for more outputs.
    let padded = |vectors: usize| outputs.next_multiple_of(vectors * lanes);
    let vectors = choices.iter().copied().min_by_key(|vectors| padded(*vectors)).unwrap_or(1);
    let width = vectors * lanes;
    let mut panels = vec![0.0; padded(vectors) * inputs];
    for (index, panel) in panels.chunks_exact_mut(inputs * width).enumerate() {
      for input in 0..inputs {
        for lane in 0..width.min(outputs - index * width) {
          panel[input * width + lane] = weight(index * width + lane, input);
        }
      }
    }
    let mut padded_bias = bias.to_vec();
    padded_bias.resize(padded(vectors), 0.0);
    Self { level, inputs, outputs, vectors, panels, bias: padded_bias }
  }

  /// For each position: the matrix times what lies in `x` at the `spans` from it, written to `out` at the place of the same
  /// index in `places`. The spans together have as many inputs as the matrix.
  ///
  /// # Panics
  /// If a span or a place is not within its slice.
  pub(crate) fn apply(
    &self,
    x: &[f32],
    spans: &[Span],
    positions: &[usize],
    out: &mut [f32],
    places: &[usize],
    activation: Activation,
  ) {
    let reach = spans.iter().map(|span| span.offset + span.length).max().unwrap_or(0);
    assert!(
      spans.iter().map(|span| span.length).sum::<usize>() == self.inputs && positions.len() == places.len()
    );
    assert!(positions.iter().all(|position| position + reach <= x.len()));
    assert!(places.iter().all(|place| place + self.outputs <= out.len()));
    let call =
      Call { matrix: self, x: x.as_ptr(), spans, positions, out: out.as_mut_ptr(), places, activation };
    // SAFETY: all that is read and written was just checked to be within the slices.
    unsafe { run(&call) };
  }

  /// The matrix times one vector.
  pub(crate) fn apply_to_one(&self, x: &[f32], out: &mut [f32], activation: Activation) {
    self.apply(x, &[Span { offset: 0, length: self.inputs }], &[0], out, &[0], activation);
  }
}

#[cfg(test)]
mod tests {
  use super::*;
  use proptest::prelude::*;

  fn number(seed: usize) -> f32 {
    (seed as f32 * 0.618_034).fract() - 0.5
  }

  proptest! {
    #[test]
    fn every_level_computes_the_product(
      inputs in 1usize..40, outputs in 1usize..110, positions in 1usize..19, gap in 0usize..3, cut in 0usize..40,
      slope in prop::sample::select(vec![1.0f32, 0.0, 0.2]),
    ) {
      let bias: Vec<f32> = (0..outputs).map(|index| number(index * 7 + 1)).collect();
      let weight = |output: usize, input: usize| number(output * 131 + input * 17);
      let stride = inputs + gap;
      let x: Vec<f32> = (0..stride * positions + gap).map(|index| number(index * 5 + 3)).collect();
      let cut = cut.min(inputs);
      let spans = [Span { offset: 0, length: cut }, Span { offset: cut + gap, length: inputs - cut }];
      let starts: Vec<usize> = (0..positions).map(|position| position * stride).collect();
      let places: Vec<usize> = (0..positions).map(|position| (positions - 1 - position) * outputs).collect();
      let activation = Activation { slope, floor: -0.3 };
      for level in Level::available() {
        let mut out = vec![f32::NAN; outputs * positions];
        Linear::new(level, inputs, &bias, weight).apply(&x, &spans, &starts, &mut out, &places, activation);
        for (start, place) in starts.iter().zip(&places) {
          for output in 0..outputs {
            let read = |input: usize| x[start + input + if input < cut { 0 } else { gap }];
            let sum: f64 = (0..inputs).map(|input| f64::from(weight(output, input)) * f64::from(read(input))).sum();
            let sum = sum + f64::from(bias[output]);
            let wanted = sum.max(sum * f64::from(slope)).max(f64::from(-0.3f32));
            prop_assert!((f64::from(out[place + output]) - wanted).abs() < 1e-5, "{level:?}");
          }
        }
      }
    }
  }

  #[test]
  #[should_panic(expected = "x.len()")]
  fn nothing_beyond_the_input_is_read() {
    let matrix = Linear::new(Level::best(), 4, &[0.0; 2], |_, _| 1.0);
    matrix.apply(&[0.0; 6], &[Span { offset: 0, length: 4 }], &[3], &mut [0.0; 2], &[0], Activation::NONE);
  }
}
