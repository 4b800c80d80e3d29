//! Seeded numbers that are the same on every machine: the rotations and the inputs of the gates are made of them.

/// `SplitMix64` (Steele, Lea, Flood 2014).
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
  pub(crate) fn new(seed: u64) -> Self {
    Self(seed)
  }

  pub(crate) fn next(&mut self) -> u64 {
    self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = self.0;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
  }

  /// Uniform in [0, 1), 53 bits.
  #[allow(clippy::cast_precision_loss)] // 53 bits fit
  fn unit(&mut self) -> f64 {
    (self.next() >> 11) as f64 / (1u64 << 53) as f64
  }

  /// `n` values of N(0, 1) by Box and Muller: each pair of uniform numbers gives a cosine, then a sine.
  pub(crate) fn gaussians(&mut self, n: usize) -> Vec<f64> {
    let mut values = Vec::with_capacity(n + 1);
    while values.len() < n {
      let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
      let angle = std::f64::consts::TAU * self.unit();
      values.push(radius * libm::cos(angle));
      values.push(radius * libm::sin(angle));
    }
    values.truncate(n);
    values
  }
}

/// Marsaglia's xorshift with the shifts 13, 17, 5.
pub struct Xorshift32(u32);

impl Xorshift32 {
  /// `seed` 0 is replaced by 1: zero would stay zero.
  pub fn new(seed: u32) -> Self {
    Self(seed.max(1))
  }

  pub(crate) fn next(&mut self) -> u32 {
    self.0 ^= self.0 << 13;
    self.0 ^= self.0 >> 17;
    self.0 ^= self.0 << 5;
    self.0
  }

  /// Nearly N(0, 1): the sum of twelve uniform numbers of 20 bits, less 6. Every step is exact, so that another
  /// implementation in another language has the same value to the bit.
  #[allow(clippy::cast_precision_loss)] // below 2^24
  pub fn near_gaussian(&mut self) -> f32 {
    let sum: u32 = (0..12).map(|_| self.next() >> 12).sum();
    sum as f32 / (1u32 << 20) as f32 - 6.0
  }

  /// `n` values of [`Self::near_gaussian`].
  pub fn near_gaussians(&mut self, n: usize) -> Vec<f32> {
    (0..n).map(|_| self.near_gaussian()).collect()
  }
}
