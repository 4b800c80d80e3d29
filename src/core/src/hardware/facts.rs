//! What is known of a machine.

/// What the processor and the memory offer to this process. Limits of a container count.
#[derive(Debug, Clone, PartialEq)]
pub struct HardwareFacts {
  /// Marketing name of the processor, or the architecture where the system names none.
  pub cpu_model: String,
  /// Rust's name of the architecture: `x86_64`, `aarch64`.
  pub architecture: String,
  /// Physical cores among those that the process may run on, at least 1.
  pub physical_cores: u32,
  /// Hardware threads that the process may run on, at least 1.
  pub logical_cores: u32,
  /// Hardware threads' worth of time that the process may use: `logical_cores` or the smaller quota of its container.
  pub cpu_limit: f64,
  /// Bytes of memory: the machine's, or the smaller limit of the container. Zero where the system does not say.
  pub memory_total: u64,
  /// Bytes that can still be taken without swapping, caches counted as free. Zero where the system does not say.
  pub memory_available: u64,
  /// How short memory is in the kernel's own words: 1 not at all, 2 short, 4 critically (macOS). None where it has none.
  pub memory_pressure: Option<u32>,
  /// Instruction-set extensions that matter to inference, in the order of their introduction.
  pub features: Vec<String>,
}
