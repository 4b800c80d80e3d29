//! Random numbers that are the same everywhere (Steele, Lea, Flood 2014: `SplitMix64`).

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
  pub fn new(seed: u64) -> Self {
    let mut random = Self(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ 0x9E37_79B9);
    random.next();
    random
  }

  pub fn next(&mut self) -> u64 {
    self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
  }

  /// Evenly in `low..high`.
  pub fn within(&mut self, low: f64, high: f64) -> f64 {
    low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
  }

  /// Normal, of mean 0 and variance 1: twelve even ones.
  pub fn normal(&mut self) -> f64 {
    (0..12).map(|_| self.within(0.0, 1.0)).sum::<f64>() - 6.0
  }

  /// One of `count`.
  pub fn index(&mut self, count: usize) -> usize {
    (self.next() % count as u64) as usize
  }
}
