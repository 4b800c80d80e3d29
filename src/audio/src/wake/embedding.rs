//! Google's speech embedding: 96 numbers for the last 76 mel frames, every 8 frames.
//!
//! Twenty convolutions, over time (3x1) and over bands (1x3) in turn, with pools between them. The window moves by 8 frames,
//! which is also how far all pools together reduce time, and no convolution is padded in time: so each needs only its new
//! rows and the two before, and the result is the same as for the whole window.

use super::mel::{BANDS, FRAMES};
use crate::error::Result;
use crate::nn::{Activation, Level, Linear, Span};
use crate::weights::Weights;
use std::sync::Arc;

/// Numbers in an embedding.
pub(super) const SIZE: usize = 96;
/// Rows before the new ones that a convolution over time needs.
const KEPT: usize = 2;
/// Leaky `ReLU`, but never below -0.4.
const ACTIVATION: Activation = Activation { slope: 0.2, floor: -0.4 };
/// Groups of 8 frames of ones that stand in front of every stream, as in openWakeWord.
const PRIMING: usize = 9;

/// What a layer's output goes through, and how many output channels it has.
struct Stage {
  channels: usize,
  /// Convolutions over bands and over time, each twice or once.
  pairs: usize,
  /// Whether the pool behind halves time; all halve the bands.
  halves_time: bool,
}

const STAGES: [Stage; 5] = [
  Stage { channels: 24, pairs: 1, halves_time: true },
  Stage { channels: 48, pairs: 2, halves_time: false },
  Stage { channels: 72, pairs: 2, halves_time: true },
  Stage { channels: 96, pairs: 2, halves_time: false },
  Stage { channels: 96, pairs: 2, halves_time: true },
];

/// Rows of cells of channels, with `above` kept rows and `beside` empty columns on each side.
#[derive(Clone, Copy)]
struct Grid {
  above: usize,
  rows: usize,
  columns: usize,
  channels: usize,
  beside: usize,
}

impl Grid {
  fn row(&self) -> usize {
    (self.columns + 2 * self.beside) * self.channels
  }

  fn size(&self) -> usize {
    (self.above + self.rows) * self.row()
  }

  /// Where the cell of a new row begins.
  fn cell(&self, row: usize, column: usize) -> usize {
    (self.above + row) * self.row() + (self.beside + column) * self.channels
  }

  /// Where every new cell begins.
  fn cells(self) -> Vec<usize> {
    (0..self.rows).flat_map(|row| (0..self.columns).map(move |column| self.cell(row, column))).collect()
  }
}

enum Step {
  Convolution {
    linear: Linear,
    spans: Vec<Span>,
    positions: Vec<usize>,
    places: Vec<usize>,
    activation: Activation,
  },
  /// The largest of 2 columns and `rows` rows.
  Pool { from: Grid, to: Grid, rows: usize },
}

/// The layers, and the grid in front of each; the last grid is the embedding.
pub(super) struct Layers {
  grids: Vec<Grid>,
  steps: Vec<Step>,
}

impl Layers {
  pub(super) fn new(weights: &Weights, level: Level) -> Result<Self> {
    let mel = Grid { above: KEPT, rows: FRAMES, columns: BANDS, channels: 1, beside: 1 };
    let mut plan = Plan { weights, level, layer: 0, grids: vec![mel], steps: Vec::new() };
    let mut here = Grid { above: 0, rows: FRAMES, columns: BANDS, channels: STAGES[0].channels, beside: 1 };
    plan.convolution(here, (3, 3))?;
    for (index, stage) in STAGES.iter().enumerate() {
      for pair in 0..stage.pairs {
        let last = pair + 1 == stage.pairs;
        here = Grid { channels: stage.channels, ..here };
        plan.convolution(Grid { above: KEPT, beside: 0, ..here }, (1, 3))?;
        plan.convolution(Grid { beside: usize::from(!last), ..here }, (3, 1))?;
      }
      let rows = if stage.halves_time { 2 } else { 1 };
      here = Grid { rows: here.rows / rows, columns: here.columns / 2, ..here };
      // The layer behind the last pool goes over time.
      let end = index + 1 == STAGES.len();
      plan.pool(if end { Grid { above: KEPT, beside: 0, ..here } } else { here }, rows);
    }
    plan.convolution(Grid { beside: 0, ..here }, (3, 1))?;
    Ok(Self { grids: plan.grids, steps: plan.steps })
  }
}

struct Plan<'a> {
  weights: &'a Weights<'a>,
  level: Level,
  layer: usize,
  grids: Vec<Grid>,
  steps: Vec<Step>,
}

impl Plan<'_> {
  fn from(&self) -> Grid {
    self.grids[self.grids.len() - 1]
  }

  /// A convolution of `height` rows and `width` columns from the last grid into `to`.
  fn convolution(&mut self, to: Grid, (height, width): (usize, usize)) -> Result<()> {
    let from = self.from();
    let (inputs, outputs) = (from.channels, to.channels);
    let weight =
      self.weights.get(&format!("layer.{}.weight", self.layer), &[outputs, inputs, height, width])?;
    let name = format!("layer.{}.bias", self.layer);
    let (bias, activation) = if self.weights.has(&name) {
      (self.weights.get(&name, &[outputs])?, ACTIVATION)
    } else {
      (vec![0.0; outputs], Activation::NONE)
    };
    let linear = Linear::new(self.level, height * width * inputs, &bias, |output, at| {
      let (tap, input) = (at / inputs, at % inputs);
      weight[((output * inputs + input) * height + tap / width) * width + tap % width]
    });
    let spans = (0..height).map(|row| Span { offset: row * from.row(), length: width * inputs });
    // A position is the upper left of what the convolution sees.
    let back = (height - 1) * from.row() + (width - 1) / 2 * inputs;
    let positions = from.cells().into_iter().map(|cell| cell - back).collect();
    self.steps.push(Step::Convolution {
      linear,
      spans: spans.collect(),
      positions,
      places: to.cells(),
      activation,
    });
    self.grids.push(to);
    self.layer += 1;
    Ok(())
  }

  fn pool(&mut self, to: Grid, rows: usize) {
    self.steps.push(Step::Pool { from: self.from(), to, rows });
    self.grids.push(to);
  }
}

/// One stream.
pub(super) struct Embedding {
  layers: Arc<Layers>,
  buffers: Vec<Vec<f32>>,
  /// The buffers of a stream that has only had ones.
  fresh: Vec<Vec<f32>>,
}

impl Embedding {
  pub(super) fn new(layers: Arc<Layers>) -> Self {
    let buffers: Vec<_> = layers.grids.iter().map(|grid| vec![0.0; grid.size()]).collect();
    let mut made = Self { layers, buffers, fresh: Vec::new() };
    for _ in 0..PRIMING {
      made.push(&[[1.0; BANDS]; FRAMES]);
    }
    made.fresh = made.buffers.clone();
    made
  }

  pub(super) fn reset(&mut self) {
    for (buffer, fresh) in self.buffers.iter_mut().zip(&self.fresh) {
      buffer.copy_from_slice(fresh);
    }
  }

  /// The embedding of the window that ends with these frames.
  pub(super) fn push(&mut self, frames: &[[f32; BANDS]; FRAMES]) -> &[f32] {
    let layers = &self.layers;
    for (grid, buffer) in layers.grids.iter().zip(&mut self.buffers) {
      if grid.above > 0 {
        buffer.copy_within(grid.rows * grid.row().., 0);
      }
    }
    let mel = &layers.grids[0];
    for (row, frame) in frames.iter().enumerate() {
      self.buffers[0][mel.cell(row, 0)..][..BANDS].copy_from_slice(frame);
    }
    for (index, step) in layers.steps.iter().enumerate() {
      let (before, after) = self.buffers.split_at_mut(index + 1);
      let (from, to) = (&before[index], &mut after[0]);
      match step {
        Step::Convolution { linear, spans, positions, places, activation } => {
          linear.apply(from, spans, positions, to, places, *activation);
        }
        Step::Pool { from: grid, to: smaller, rows } => pool(from, grid, to, smaller, *rows),
      }
    }
    &self.buffers[self.buffers.len() - 1]
  }
}

fn pool(from: &[f32], grid: &Grid, to: &mut [f32], smaller: &Grid, rows: usize) {
  for row in 0..smaller.rows {
    for column in 0..smaller.columns {
      let out = &mut to[smaller.cell(row, column)..][..grid.channels];
      out.fill(f32::NEG_INFINITY);
      for other in 0..rows * 2 {
        let cell = grid.cell(row * rows + other / 2, column * 2 + other % 2);
        for (largest, value) in out.iter_mut().zip(&from[cell..][..grid.channels]) {
          *largest = largest.max(*value);
        }
      }
    }
  }
}
