//! The devices that can compute.

use llama_cpp_2::{LlamaBackendDeviceType, list_llama_ggml_backend_devices};

/// A device that can compute.
#[derive(Debug, Clone)]
pub struct Device {
  /// Short name, such as `CPU` or `CUDA0`.
  pub name: String,
  /// Product name.
  pub description: String,
  /// `cpu`, `gpu`, `igpu` or `accelerator`.
  pub kind: &'static str,
  /// Backend that drives it.
  pub backend: String,
  /// Bytes of memory.
  pub memory_total: u64,
  /// Free bytes of memory when asked.
  pub memory_free: u64,
}

/// Every device that ggml sees now.
pub fn devices() -> Vec<Device> {
  list_llama_ggml_backend_devices()
    .into_iter()
    .map(|device| Device {
      name: device.name,
      description: device.description,
      kind: match device.device_type {
        LlamaBackendDeviceType::Cpu => "cpu",
        LlamaBackendDeviceType::Gpu => "gpu",
        LlamaBackendDeviceType::IntegratedGpu => "igpu",
        _ => "accelerator",
      },
      backend: device.backend,
      memory_total: device.memory_total as u64,
      memory_free: device.memory_free as u64,
    })
    .collect()
}

/// Whether a model could be offloaded to a device here.
pub fn has_gpu() -> bool {
  devices().iter().any(|device| device.kind == "gpu" || device.kind == "igpu")
}

/// Free bytes of devices that have memory of their own. What Metal and integrated devices report is the machine's memory,
/// which is counted already.
pub fn device_memory() -> u64 {
  devices().iter().filter(|device| has_own_memory(device)).map(|device| device.memory_free).sum()
}

fn has_own_memory(device: &Device) -> bool {
  device.kind == "gpu" && !device.backend.eq_ignore_ascii_case("metal") && !device.name.starts_with("MTL")
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn shared_memory_is_not_counted_twice() {
    let device = |kind, backend: &str, name: &str| Device {
      name: name.to_owned(),
      description: String::new(),
      kind,
      backend: backend.to_owned(),
      memory_total: 2,
      memory_free: 1,
    };
    assert!(has_own_memory(&device("gpu", "CUDA", "CUDA0")));
    assert!(has_own_memory(&device("gpu", "Vulkan", "Vulkan0")));
    assert!(!has_own_memory(&device("igpu", "Vulkan", "Vulkan0")));
    assert!(!has_own_memory(&device("gpu", "MTL", "MTL0")));
    assert!(!has_own_memory(&device("gpu", "Metal", "Metal")));
    assert!(!has_own_memory(&device("cpu", "CPU", "CPU")));
  }
}
