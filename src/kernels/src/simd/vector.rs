/// Sixteen values of f32 in the registers of one instruction set.
///
/// # Safety
/// Every method may only run on a processor that has the instruction set of the type.
pub(super) trait Vector: Copy {
  unsafe fn splat(value: f32) -> Self;
  unsafe fn load(from: &[f32; 16]) -> Self;
  unsafe fn store(self, to: &mut [f32; 16]);
  unsafe fn add(self, other: Self) -> Self;
  unsafe fn sub(self, other: Self) -> Self;
  unsafe fn mul(self, other: Self) -> Self;
  /// The lanes whose bit is set, negated; bit 0 is lane 0.
  unsafe fn negate(self, bits: u16) -> Self;
  /// Lane i and lane i + `DISTANCE` (1, 2, 4 or 8) exchanged, in each group of twice the distance.
  unsafe fn exchange<const DISTANCE: usize>(self) -> Self;
  /// `levels[code & 15]`
  unsafe fn levels(levels: &[f32; 16], codes: &[u8; 16]) -> Self;
  /// `codebook[state & 511]`
  unsafe fn states(codebook: &[f32; 512], states: &[u16; 16]) -> Self;
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
