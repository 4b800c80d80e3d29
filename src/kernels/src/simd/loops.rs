//! The loops, for any instruction set.

use super::vector::Vector;

/// Lane i is added to lane i + 8, then to i + 4, i + 2, i + 1.
///
/// # Safety
/// See [`Vector`]; so in all that follow.
#[inline(always)]
unsafe fn sum_lanes<V: Vector>(lanes: V) -> f32 {
  let mut values = [0.0; 16];
  // SAFETY: see above.
  unsafe { lanes.store(&mut values) };
  for half in [8, 4, 2, 1] {
    for i in 0..half {
      values[i] += values[i + half];
    }
  }
  values[0]
}

/// The signs of group `i` of sixteen.
#[inline(always)]
fn sixteen_bits(bits: &[u8], i: usize) -> u16 {
  u16::from_le_bytes([bits[2 * i], bits[2 * i + 1]])
}

#[inline(always)]
pub(super) unsafe fn level_dot<V: Vector>(codes: &[u8], levels: &[f32; 16], query: &[f32]) -> f32 {
  // SAFETY: see above.
  unsafe {
    let mut lanes = V::splat(0.0);
    for (codes, query) in codes.as_chunks().0.iter().zip(query.as_chunks().0) {
      lanes = lanes.add(V::levels(levels, codes).mul(V::load(query)));
    }
    sum_lanes(lanes)
  }
}

#[inline(always)]
pub(super) unsafe fn state_dot<V: Vector>(states: &[u16], codebook: &[f32; 512], query: &[f32]) -> f32 {
  // SAFETY: see above.
  unsafe {
    let mut lanes = V::splat(0.0);
    for (states, query) in states.as_chunks().0.iter().zip(query.as_chunks().0) {
      lanes = lanes.add(V::states(codebook, states).mul(V::load(query)));
    }
    sum_lanes(lanes)
  }
}

#[inline(always)]
pub(super) unsafe fn sign_dot<V: Vector>(bits: &[u8], query: &[f32]) -> f32 {
  // SAFETY: see above.
  unsafe {
    let mut lanes = V::splat(0.0);
    for (i, query) in query.as_chunks().0.iter().enumerate() {
      lanes = lanes.add(V::load(query).negate(!sixteen_bits(bits, i)));
    }
    sum_lanes(lanes)
  }
}

#[inline(always)]
pub(super) unsafe fn add_levels<V: Vector>(sum: &mut [f32], codes: &[u8], levels: &[f32; 16], weight: f32) {
  // SAFETY: see above.
  unsafe {
    let weight = V::splat(weight);
    for (sum, codes) in sum.as_chunks_mut().0.iter_mut().zip(codes.as_chunks().0) {
      V::load(sum).add(V::levels(levels, codes).mul(weight)).store(sum);
    }
  }
}

#[inline(always)]
pub(super) unsafe fn add_states<V: Vector>(
  sum: &mut [f32],
  states: &[u16],
  codebook: &[f32; 512],
  weight: f32,
) {
  // SAFETY: see above.
  unsafe {
    let weight = V::splat(weight);
    for (sum, states) in sum.as_chunks_mut().0.iter_mut().zip(states.as_chunks().0) {
      V::load(sum).add(V::states(codebook, states).mul(weight)).store(sum);
    }
  }
}

#[inline(always)]
pub(super) unsafe fn add_signs<V: Vector>(sum: &mut [f32], bits: &[u8], weight: f32) {
  // SAFETY: see above.
  unsafe {
    let weight = V::splat(weight);
    for (i, sum) in sum.as_chunks_mut().0.iter_mut().enumerate() {
      V::load(sum).add(weight.negate(!sixteen_bits(bits, i))).store(sum);
    }
  }
}

#[inline(always)]
pub(super) unsafe fn scale<V: Vector>(values: &mut [f32], factor: f32) {
  // SAFETY: see above.
  unsafe {
    let factor = V::splat(factor);
    for values in values.as_chunks_mut().0 {
      V::load(values).mul(factor).store(values);
    }
  }
}

/// a + b in the lower lane, a - b in the upper one, of lanes `DISTANCE` apart.
#[inline(always)]
unsafe fn butterfly<V: Vector, const DISTANCE: usize>(values: V, upper: u16) -> V {
  // SAFETY: see above.
  unsafe { values.exchange::<DISTANCE>().add(values.negate(upper)) }
}

#[inline(always)]
pub(super) unsafe fn hadamard<V: Vector>(values: &mut [f32]) {
  let groups = values.as_chunks_mut().0;
  // SAFETY: see above.
  unsafe {
    for group in &mut *groups {
      let mut v = V::load(group);
      v = butterfly::<V, 1>(v, 0xAAAA);
      v = butterfly::<V, 2>(v, 0xCCCC);
      v = butterfly::<V, 4>(v, 0xF0F0);
      butterfly::<V, 8>(v, 0xFF00).store(group);
    }
    let mut half = 1;
    while half < groups.len() {
      for pair in groups.chunks_exact_mut(2 * half) {
        let (left, right) = pair.split_at_mut(half);
        for (left, right) in left.iter_mut().zip(right) {
          let (a, b) = (V::load(left), V::load(right));
          a.add(b).store(left);
          a.sub(b).store(right);
        }
      }
      half *= 2;
    }
  }
}

/// Makes the loops of one instruction set out of the generic ones.
macro_rules! loops {
    ($vector:ty, $visible:vis $(, $feature:literal)?) => {
        loops!(@each $vector, ($visible), ($($feature)?),
            level_dot(codes: &[u8], levels: &[f32; 16], query: &[f32]) -> f32;
            state_dot(states: &[u16], codebook: &[f32; 512], query: &[f32]) -> f32;
            sign_dot(bits: &[u8], query: &[f32]) -> f32;
            add_levels(sum: &mut [f32], codes: &[u8], levels: &[f32; 16], weight: f32) -> ();
            add_states(sum: &mut [f32], states: &[u16], codebook: &[f32; 512], weight: f32) -> ();
            add_signs(sum: &mut [f32], bits: &[u8], weight: f32) -> ();
            scale(values: &mut [f32], factor: f32) -> ();
            hadamard(values: &mut [f32]) -> ();
        );
    };
    (@each $vector:ty, $visible:tt, $feature:tt,
        $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(loops!(@one $vector, $visible, $feature, $name($($argument: $type),*) -> $result);)*
    };
    (@one $vector:ty, ($visible:vis), ($($feature:literal)?),
        $name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        $(#[target_feature(enable = $feature)])?
        $visible fn $name($($argument: $type),*) -> $result {
            // SAFETY: the caller has made sure of the instruction set that this function is compiled for.
            unsafe { super::loops::$name::<$vector>($($argument),*) }
        }
    };
}
pub(super) use loops;
