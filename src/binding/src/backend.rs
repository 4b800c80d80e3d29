//! The compute backend and the machine, as JavaScript objects.

use std::path::PathBuf;

use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::hardware;
use local_inference_llama::backend;
use napi_derive::napi;

use crate::error::blocking;
use crate::exit;
use crate::logs;
use crate::memory;
use crate::numbers::number;

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

/// Starts the backend with the modules that lie beside the addon.
pub(crate) fn start() -> Result<&'static backend::Backend> {
  logs::install();
  memory::keep_little();
  let started = backend::start(&addon_directory()?);
  exit::arm();
  started
}

/// The folder of this very library: the package may be anywhere, and symbolic links are already resolved by Node.
fn addon_directory() -> Result<PathBuf> {
  let missing = || EngineError::new(ErrorCode::BackendUnavailable, "the addon cannot find its own folder");
  // SAFETY: an all-zero Dl_info is valid, and the address is one of our own functions.
  let path = unsafe {
    let mut info: libc::Dl_info = std::mem::zeroed();
    if libc::dladdr(addon_directory as *const libc::c_void, &raw mut info) == 0 || info.dli_fname.is_null() {
      return Err(missing());
    }
    PathBuf::from(std::ffi::CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned())
  };
  path.parent().map(PathBuf::from).ok_or_else(missing)
}

/// Starts the backend if it has not been started, and tells what it found.
#[napi]
pub async fn backend_info() -> napi::Result<BackendInfo> {
  blocking(|| {
    let started = start()?;
    Ok(BackendInfo {
      llama_version: backend::llama_version(),
      system_info: backend::system_info(),
      cpu_module: started.cpu_module.clone(),
      cpu_levels: backend::cpu_levels(&addon_directory()?),
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
