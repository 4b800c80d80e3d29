//! Facts about the machine, as far as this process may use it.

mod accelerators;
#[cfg(any(target_os = "linux", target_os = "android", test))]
mod cgroup;
mod facts;
#[cfg(any(target_os = "linux", target_os = "android", test))]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod power;
#[cfg(windows)]
mod windows;

use std::thread;

pub use accelerators::{Accelerator, AcceleratorDevice, accelerators};
pub use facts::HardwareFacts;
pub use power::{PowerState, power_state};

/// Measures the machine. Takes a few milliseconds; the memory figures are those of the moment.
pub fn facts() -> HardwareFacts {
  let logical =
    thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
  let facts = HardwareFacts {
    cpu_model: std::env::consts::ARCH.to_owned(),
    architecture: std::env::consts::ARCH.to_owned(),
    physical_cores: logical,
    logical_cores: logical,
    cpu_limit: f64::from(logical),
    memory_total: 0,
    memory_available: 0,
    memory_pressure: None,
    features: features(),
  };
  refined(facts)
}

/// Threads to decode with: one per physical core within the CPU limit, at least 1. More only wait for the same units.
pub fn default_threads(facts: &HardwareFacts) -> u32 {
  let mut threads = facts.physical_cores;
  while threads > 1 && f64::from(threads) > facts.cpu_limit {
    threads -= 1;
  }
  threads.max(1)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn refined(facts: HardwareFacts) -> HardwareFacts {
  linux::refine(facts, std::path::Path::new("/"))
}

#[cfg(target_os = "macos")]
fn refined(facts: HardwareFacts) -> HardwareFacts {
  macos::refine(facts)
}

#[cfg(windows)]
fn refined(facts: HardwareFacts) -> HardwareFacts {
  windows::refine(facts)
}

/// Elsewhere only what the standard library knows is reported.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos", windows)))]
fn refined(facts: HardwareFacts) -> HardwareFacts {
  facts
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn features() -> Vec<String> {
  macro_rules! detected {
    ($($name:tt),*) => { [$(($name, std::arch::is_x86_feature_detected!($name))),*] };
  }
  let all = detected!(
    "sse4.2",
    "avx",
    "f16c",
    "fma",
    "avx2",
    "bmi2",
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512vbmi",
    "avx512vnni",
    "avx512bf16",
    "avx512fp16",
    "avxvnni"
  );
  all.iter().filter(|feature| feature.1).map(|feature| feature.0.to_owned()).collect()
}

#[cfg(target_arch = "aarch64")]
fn features() -> Vec<String> {
  macro_rules! detected {
    ($($name:tt),*) => { [$(($name, std::arch::is_aarch64_feature_detected!($name))),*] };
  }
  let all = detected!("neon", "fp16", "dotprod", "bf16", "i8mm", "sve", "sve2");
  all.iter().filter(|feature| feature.1).map(|feature| feature.0.to_owned()).collect()
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
fn features() -> Vec<String> {
  Vec::new()
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn this_machine_has_cores_and_memory() {
    let facts = facts();
    assert!(facts.physical_cores >= 1 && facts.physical_cores <= facts.logical_cores, "{facts:?}");
    assert!(facts.cpu_limit > 0.0 && facts.cpu_limit <= f64::from(facts.logical_cores), "{facts:?}");
    assert!(!facts.cpu_model.is_empty());
    if cfg!(any(target_os = "linux", target_os = "macos", windows)) {
      assert!(facts.memory_total > 0 && facts.memory_available <= facts.memory_total, "{facts:?}");
    }
  }

  #[test]
  fn threads_are_physical_cores_within_the_limit() {
    let with =
      |physical_cores, cpu_limit| default_threads(&HardwareFacts { physical_cores, cpu_limit, ..facts() });
    assert_eq!(with(8, 16.0), 8);
    assert_eq!(with(8, 4.0), 4);
    assert_eq!(with(8, 2.5), 2);
    assert_eq!(with(8, 0.5), 1);
    assert_eq!(with(1, 2.0), 1);
  }
}
