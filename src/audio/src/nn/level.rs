//! Which instructions this processor has.

/// An instruction-set level. All give the same results within rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
  /// Plain code for any processor, which the compiler turns into the vector code that all of the kind have (SSE2, NEON).
  Portable,
  /// x86-64 with AVX2 and FMA.
  Avx2,
  /// x86-64 with AVX-512F.
  Avx512,
}

impl Level {
  /// The best level of this processor.
  pub fn best() -> Self {
    [Self::Avx512, Self::Avx2].into_iter().find(|level| level.is_available()).unwrap_or(Self::Portable)
  }

  /// Whether this processor has the level.
  pub fn is_available(self) -> bool {
    #[cfg(target_arch = "x86_64")]
    return match self {
      Self::Portable => true,
      Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
      Self::Avx512 => is_x86_feature_detected!("avx512f"),
    };
    #[cfg(not(target_arch = "x86_64"))]
    return self == Self::Portable;
  }

  /// Every level of this processor, the plainest first.
  pub fn available() -> impl Iterator<Item = Self> {
    [Self::Portable, Self::Avx2, Self::Avx512].into_iter().filter(|level| level.is_available())
  }
}
