//! The compute backend and the machine, as JavaScript objects.

use std::path::PathBuf;

use local_inference_core::error::Result;
use local_inference_core::hardware;
use local_inference_llama::backend;
use napi_derive::napi;

use crate::library;
use crate::numbers::number;
use crate::process::exit;
use crate::process::logs;
use crate::process::memory;
use crate::promise::blocking;

#[napi(object, object_from_js = false)]
pub struct DeviceInfo {
  pub name: String,
  pub description: String,
  #[napi(ts_type = "\"cpu\" | \"gpu\" | \"igpu\" | \"accelerator\"")]
  pub kind: &'static str,
  pub backend: String,
  pub memory_total: f64,
  pub memory_free: f64,
}

#[napi(object, object_from_js = false)]
pub struct ModuleFailure {
  pub module: String,
  pub reason: String,
}

#[napi(object, object_from_js = false)]
pub struct BackendInfo {
  pub llama_version: String,
  pub system_info: String,
  pub cpu_module: Option<String>,
  /// Instruction-set levels whose modules lie in the package.
  pub cpu_levels: Vec<String>,
  pub devices: Vec<DeviceInfo>,
  /// Free bytes of devices that have memory of their own.
  pub device_memory_free: f64,
  pub failures: Vec<ModuleFailure>,
}

#[napi(object, object_from_js = false)]
pub struct HardwareFacts {
  pub cpu_model: String,
  pub architecture: String,
  pub physical_cores: u32,
  pub logical_cores: u32,
  pub cpu_limit: f64,
  pub memory_total: f64,
  pub memory_available: f64,
  pub memory_pressure: Option<u32>,
  pub features: Vec<String>,
}

/// Starts the backend with the modules that lie beside the addon, and those in `others`. The first call decides.
pub(crate) fn start(others: Vec<PathBuf>) -> Result<&'static backend::Backend> {
  logs::install();
  memory::keep_little();
  let folders: Vec<_> = [library::folder()?].into_iter().chain(others).collect();
  let started = backend::start(&folders);
  exit::arm();
  started
}

/// What the backend found. Starts it if it has not been started: with the modules that lie beside the addon, and those in
/// `folders`, which bring further devices.
#[napi]
pub async fn backend_info(folders: Option<Vec<String>>) -> napi::Result<BackendInfo> {
  let folders = folders.into_iter().flatten().map(PathBuf::from).collect();
  blocking(|| {
    let started = start(folders)?;
    Ok(BackendInfo {
      llama_version: backend::llama_version(),
      system_info: backend::system_info(),
      cpu_module: started.cpu_module.clone(),
      cpu_levels: backend::cpu_levels(&started.folders),
      devices: backend::devices().into_iter().map(DeviceInfo::from).collect(),
      device_memory_free: number(backend::device_memory()),
      failures: started
        .failures
        .iter()
        .map(|failure| ModuleFailure { module: failure.module.clone(), reason: failure.reason.clone() })
        .collect(),
    })
  })
  .await
}

impl From<backend::Device> for DeviceInfo {
  fn from(device: backend::Device) -> Self {
    Self {
      name: device.name,
      description: device.description,
      kind: device.kind,
      backend: device.backend,
      memory_total: number(device.memory_total),
      memory_free: number(device.memory_free),
    }
  }
}

/// Facts of this machine, container limits counted.
#[napi]
pub async fn hardware_facts() -> napi::Result<HardwareFacts> {
  blocking(|| {
    let facts = hardware::facts();
    Ok(HardwareFacts {
      cpu_model: facts.cpu_model,
      architecture: facts.architecture,
      physical_cores: facts.physical_cores,
      logical_cores: facts.logical_cores,
      cpu_limit: facts.cpu_limit,
      memory_total: number(facts.memory_total),
      memory_available: number(facts.memory_available),
      memory_pressure: facts.memory_pressure,
      features: facts.features,
    })
  })
  .await
}
