//! A way to compute on a GPU.

/// A way to compute on a GPU, as far as this machine offers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accelerator {
  /// ggml's name in lower case: `cuda`, `vulkan` or `metal`.
  pub backend: &'static str,
  /// Whether the driver's library is installed and answers.
  pub available: bool,
  /// Version of the driver's interface, where it tells.
  pub version: Option<String>,
  /// Devices, where they can be listed without starting a driver for each.
  pub devices: Vec<AcceleratorDevice>,
  /// Why it is not available.
  pub reason: Option<String>,
}

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceleratorDevice {
  /// Product name, or the vendor where the system names none.
  pub name: String,
  /// Bytes of memory of its own; zero when it shares the machine's or the system does not say.
  pub memory_total: u64,
}

impl Accelerator {
  pub(super) fn missing(backend: &'static str, reason: String) -> Self {
    Self { backend, available: false, version: None, devices: Vec::new(), reason: Some(reason) }
  }
}
