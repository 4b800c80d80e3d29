//! The inner loops of a matrix product.

use super::lanes::{Lanes, Plain};
use super::layer::{Activation, Linear, Span};
use super::level::Level;

/// Inputs that are summed before their sum joins the total. In one long sum the rounding of each step grows with all before
/// it: a layer of 387 inputs would bring the probabilities of speech off by 2e-5.
const RUN: usize = 32;

/// One product. Whoever makes it has checked that all spans and places lie within `x` and `out`.
pub(super) struct Call<'a> {
  pub(super) matrix: &'a Linear,
  pub(super) x: *const f32,
  pub(super) spans: &'a [Span],
  pub(super) positions: &'a [usize],
  pub(super) out: *mut f32,
  pub(super) places: &'a [usize],
  pub(super) activation: Activation,
}

/// Numbers in a vector of `level`, and how many vectors of outputs its registers have room for.
pub(super) fn width(level: Level) -> (usize, &'static [usize]) {
  match level {
    #[cfg(target_arch = "x86_64")]
    Level::Avx512 => (super::lanes::Avx512::COUNT, &[3, 2]),
    Level::Avx2 => (Plain::COUNT, &[3, 2]),
    _ => (Plain::COUNT, &[1]),
  }
}

/// # Safety
/// The spans and places of `call` lie within its slices.
pub(super) unsafe fn run(call: &Call) {
  // SAFETY: a matrix is only made for a level that is available; the rest as the caller promises.
  unsafe {
    match call.matrix.level {
      #[cfg(target_arch = "x86_64")]
      Level::Avx512 => avx512(call),
      #[cfg(target_arch = "x86_64")]
      Level::Avx2 => avx2(call),
      _ => product::<Plain>(call),
    }
  }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(call: &Call) {
  // SAFETY: as the caller promises.
  unsafe { product::<super::lanes::Avx2>(call) };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(call: &Call) {
  // SAFETY: as the caller promises.
  unsafe { product::<super::lanes::Avx512>(call) };
}

#[inline(always)]
unsafe fn product<V: Lanes>(call: &Call) {
  // SAFETY: as the caller promises.
  unsafe {
    match call.matrix.vectors {
      1 => panels::<V, 1>(call),
      2 => panels::<V, 2>(call),
      _ => panels::<V, 3>(call),
    }
  }
}

#[inline(always)]
unsafe fn panels<V: Lanes, const W: usize>(call: &Call) {
  let width = W * V::COUNT;
  for (index, panel) in call.matrix.panels.chunks_exact(call.matrix.inputs * width).enumerate() {
    let bias = &call.matrix.bias[index * width..][..width];
    let part = Part { panel, bias, first: index * width };
    let count = call.positions.len();
    let mut at = 0;
    // SAFETY: as the caller promises, and `at` plus the positions of a block is at most `count`.
    unsafe {
      while V::POSITIONS == 8 && count - at >= 8 {
        block::<V, W, 8, 1>(call, &part, at);
        at += 8;
      }
      while count - at >= 4 {
        block::<V, W, 4, 1>(call, &part, at);
        at += 4;
      }
      while count - at >= 2 {
        block::<V, W, 2, 1>(call, &part, at);
        at += 2;
      }
      if count > at {
        block::<V, W, 1, 4>(call, &part, at);
      }
    }
  }
}

/// The weights of some outputs, from `first` on.
struct Part<'a> {
  panel: &'a [f32],
  bias: &'a [f32],
  first: usize,
}

/// `P` positions from index `at` on. One alone is summed in `U` parts, so that no sum waits for the one before.
#[inline(always)]
unsafe fn block<V: Lanes, const W: usize, const P: usize, const U: usize>(
  call: &Call,
  part: &Part,
  at: usize,
) {
  // SAFETY: reads the inputs at the spans and the panel's rows, which are as many; see `Call`.
  unsafe {
    let mut totals = [[V::splat(0.0); W]; P];
    for total in &mut totals {
      for (vector, total) in total.iter_mut().enumerate() {
        *total = V::load(part.bias.as_ptr().add(vector * V::COUNT));
      }
    }
    let from: [*const f32; P] = std::array::from_fn(|position| call.x.add(call.positions[at + position]));
    let mut row = part.panel.as_ptr();
    for span in call.spans {
      let mut begin = 0;
      while begin < span.length {
        let count = (span.length - begin).min(RUN);
        let x: [*const f32; P] = std::array::from_fn(|position| from[position].add(span.offset + begin));
        let mut sums = [[[V::splat(0.0); W]; P]; U];
        let mut input = 0;
        while input + U <= count {
          for sums in &mut sums {
            step::<V, W, P>(sums, row, &x, input);
            row = row.add(W * V::COUNT);
            input += 1;
          }
        }
        while input < count {
          step::<V, W, P>(&mut sums[0], row, &x, input);
          row = row.add(W * V::COUNT);
          input += 1;
        }
        for sums in &sums {
          for (totals, sums) in totals.iter_mut().zip(sums) {
            for (total, sum) in totals.iter_mut().zip(sums) {
              *total = total.add(*sum);
            }
          }
        }
        begin += count;
      }
    }
    finish::<V, W, P>(call, part, at, &totals);
  }
}

/// One input of each position times its weights.
#[inline(always)]
unsafe fn step<V: Lanes, const W: usize, const P: usize>(
  sums: &mut [[V; W]; P],
  row: *const f32,
  x: &[*const f32; P],
  input: usize,
) {
  // SAFETY: as in `block`.
  unsafe {
    let weights: [V; W] = std::array::from_fn(|vector| V::load(row.add(vector * V::COUNT)));
    for (sums, x) in sums.iter_mut().zip(x) {
      let value = V::splat(*x.add(input));
      for (sum, weight) in sums.iter_mut().zip(&weights) {
        *sum = sum.add_product(value, *weight);
      }
    }
  }
}

#[inline(always)]
unsafe fn finish<V: Lanes, const W: usize, const P: usize>(
  call: &Call,
  part: &Part,
  at: usize,
  sums: &[[V; W]; P],
) {
  let wanted = call.matrix.outputs - part.first;
  // SAFETY: `wanted` outputs from `first` on lie within the place; more than that goes through `padded`.
  unsafe {
    let (slope, floor) = (V::splat(call.activation.slope), V::splat(call.activation.floor));
    for (position, sums) in sums.iter().enumerate() {
      let to = call.out.add(call.places[at + position] + part.first);
      for (vector, sum) in sums.iter().enumerate() {
        let value = sum.max(sum.times(slope)).max(floor);
        let begin = vector * V::COUNT;
        if begin + V::COUNT <= wanted {
          value.store(to.add(begin));
        } else if begin < wanted {
          let mut padded = [0.0f32; 16];
          value.store(padded.as_mut_ptr());
          std::ptr::copy_nonoverlapping(padded.as_ptr(), to.add(begin), wanted - begin);
        }
      }
    }
  }
}
