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
