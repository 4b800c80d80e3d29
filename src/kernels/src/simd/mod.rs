//! The inner loops. Each is written once, over sixteen lanes ([`vector::Vector`]); what a lane holds after each step, and the
//! order in which lanes are summed, is the same for every instruction set, so that all give the same bits.

// A loop is compiled for an instruction set only as part of the function that names it.
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod loops;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod vector;

#[cfg(test)]
mod tests;

/// Which instructions the inner loops use. All give the same results to the bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionSet(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
  Portable,
  #[cfg(target_arch = "x86_64")]
  Avx2,
  #[cfg(target_arch = "x86_64")]
  Avx512,
  #[cfg(target_arch = "aarch64")]
  Neon,
}

/// An instruction set that this processor or this build lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbsentInstructionSet {
  /// `avx2`, `avx512` or `neon`.
  pub name: &'static str,
  /// Why.
  pub reason: &'static str,
}

impl InstructionSet {
  /// Plain Rust, on every processor.
  pub const PORTABLE: Self = Self(Kind::Portable);

  /// `portable`, `avx2`, `avx512` or `neon`.
  pub fn name(self) -> &'static str {
    match self.0 {
      Kind::Portable => "portable",
      #[cfg(target_arch = "x86_64")]
      Kind::Avx2 => "avx2",
      #[cfg(target_arch = "x86_64")]
      Kind::Avx512 => "avx512",
      #[cfg(target_arch = "aarch64")]
      Kind::Neon => "neon",
    }
  }

  /// What this processor has, the fastest last, and what it lacks.
  pub fn all() -> (Vec<Self>, Vec<AbsentInstructionSet>) {
    let mut present = vec![Self::PORTABLE];
    let mut absent = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
      let here = [
        (Kind::Avx2, "avx2", std::arch::is_x86_feature_detected!("avx2")),
        (Kind::Avx512, "avx512", std::arch::is_x86_feature_detected!("avx512f")),
      ];
      for (kind, name, detected) in here {
        if detected {
          present.push(Self(kind));
        } else {
          absent.push(AbsentInstructionSet { name, reason: "this processor does not have it" });
        }
      }
      absent.push(AbsentInstructionSet { name: "neon", reason: "not an instruction set of x86-64" });
    }
    #[cfg(target_arch = "aarch64")]
    {
      if std::arch::is_aarch64_feature_detected!("neon") {
        present.push(Self(Kind::Neon));
      } else {
        absent.push(AbsentInstructionSet { name: "neon", reason: "this processor does not have it" });
      }
    }
    #[cfg(not(target_arch = "x86_64"))]
    for name in ["avx2", "avx512"] {
      absent.push(AbsentInstructionSet { name, reason: "an instruction set of x86-64" });
    }
    (present, absent)
  }

  /// The fastest one here.
  pub fn best() -> Self {
    static BEST: std::sync::LazyLock<InstructionSet> =
      std::sync::LazyLock::new(|| InstructionSet::all().0.pop().unwrap_or(InstructionSet::PORTABLE));
    *BEST
  }
}

/// Makes a method of [`InstructionSet`] that runs the loop of its instruction set.
macro_rules! dispatched {
    ($($(#[$about:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        impl InstructionSet {
            $(
                $(#[$about])*
                pub(crate) fn $name(self, $($argument: $type),*) $(-> $result)? {
                    match self.0 {
                        Kind::Portable => portable::$name($($argument),*),
                        // SAFETY: `InstructionSet::all` makes this kind only where the processor has AVX2.
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx2 => unsafe { avx2::$name($($argument),*) },
                        // SAFETY: `InstructionSet::all` makes this kind only where the processor has AVX-512F.
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx512 => unsafe { avx512::$name($($argument),*) },
                        // SAFETY: `InstructionSet::all` makes this kind only where the processor has NEON.
                        #[cfg(target_arch = "aarch64")]
                        Kind::Neon => unsafe { neon::$name($($argument),*) },
                    }
                }
            )*
        }
    };
}

dispatched! {
    /// Sum of `levels[code] * query`. Lengths are equal and multiples of 16; so in all that follow.
    level_dot(codes: &[u8], levels: &[f32; 16], query: &[f32]) -> f32;
    /// Sum of `codebook[state] * query`.
    state_dot(states: &[u16], codebook: &[f32; 512], query: &[f32]) -> f32;
    /// Sum of `+query` where the bit is set and `-query` elsewhere; 8 bits a byte, the first the lowest.
    sign_dot(bits: &[u8], query: &[f32]) -> f32;
    /// `sum += weight * levels[code]`
    add_levels(sum: &mut [f32], codes: &[u8], levels: &[f32; 16], weight: f32);
    /// `sum += weight * codebook[state]`
    add_states(sum: &mut [f32], states: &[u16], codebook: &[f32; 512], weight: f32);
    /// `sum += weight` where the bit is set, `sum -= weight` elsewhere
    add_signs(sum: &mut [f32], bits: &[u8], weight: f32);
    /// `values *= factor`
    scale(values: &mut [f32], factor: f32);
    /// Unnormalised Walsh-Hadamard transform; the length is a power of two.
    hadamard(values: &mut [f32]);
}
