//! Start of llama.cpp: which compute modules are loaded, what devices they offer, what failed and why.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::{LlamaBackendDeviceType, list_llama_ggml_backend_devices};
use llama_cpp_sys_2 as sys;
use local_inference_core::error::{EngineError, ErrorCode, Result};

use crate::log;

/// Names a ggml-cpu module (`haswell`, `zen4`, ...) to use instead of the best one: for tests and support.
pub const CPU_MODULE_VARIABLE: &str = "LOCAL_INFERENCE_CPU_MODULE";

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

/// A module that lies in the package but could not be used.
#[derive(Debug, Clone)]
pub struct ModuleFailure {
  /// File name.
  pub module: String,
  /// Why, in llama.cpp's words.
  pub reason: String,
}

/// The started backend; one per process.
#[derive(Debug)]
pub struct Backend {
  /// Instruction-set level of the loaded ggml-cpu module, such as `zen4`.
  pub cpu_module: Option<String>,
  /// Modules that could not be used.
  pub failures: Vec<ModuleFailure>,
  // Dropping it would end llama.cpp under live models.
  _started: LlamaBackend,
}

static BACKEND: OnceLock<Result<Backend>> = OnceLock::new();

/// Loads the compute modules that lie in `directory` and starts llama.cpp. The first call decides; later calls return
/// its outcome.
///
/// # Errors
/// `BACKEND_UNAVAILABLE` when no CPU module can be loaded.
pub fn start(directory: &Path) -> Result<&'static Backend> {
  BACKEND.get_or_init(|| load(directory)).as_ref().map_err(Clone::clone)
}

/// The backend, if it has been started.
///
/// # Errors
/// `BACKEND_UNAVAILABLE` before [`start`], or when it failed.
pub fn get() -> Result<&'static Backend> {
  match BACKEND.get() {
    Some(outcome) => outcome.as_ref().map_err(Clone::clone),
    None => Err(EngineError::new(ErrorCode::BackendUnavailable, "the backend has not been started")),
  }
}

fn load(directory: &Path) -> Result<Backend> {
  log::install();
  log::forget();
  match std::env::var(CPU_MODULE_VARIABLE) {
    Ok(level) if !level.is_empty() => load_cpu_module(directory, &level)?,
    _ => {
      let path = c_path(directory)?;
      // SAFETY: a valid C string; ggml scans the directory and loads the best module of each kind.
      unsafe { sys::ggml_backend_load_all_from_path(path.as_ptr()) }
    }
  }
  // Without a CPU device llama.cpp would later search other directories, the current one among them.
  if !list_llama_ggml_backend_devices().iter().any(|d| matches!(d.device_type, LlamaBackendDeviceType::Cpu)) {
    return Err(EngineError::new(
      ErrorCode::BackendUnavailable,
      format!(
        "no CPU compute module could be loaded from {}: reinstall the platform package ({})",
        directory.display(),
        log::complaints()
      ),
    ));
  }
  let started = LlamaBackend::init()
    .map_err(|error| EngineError::new(ErrorCode::BackendUnavailable, error.to_string()))?;
  Ok(Backend { cpu_module: loaded_cpu_module(directory), failures: failures(directory), _started: started })
}

fn load_cpu_module(directory: &Path, level: &str) -> Result<()> {
  let file = directory.join(format!("libggml-cpu-{level}.so"));
  let path = c_path(&file)?;
  // SAFETY: a valid C string; a module that this processor cannot run is refused by its own score function.
  let registered = unsafe { sys::ggml_backend_load(path.as_ptr()) };
  if registered.is_null() {
    return Err(EngineError::new(
      ErrorCode::BackendUnavailable,
      format!(
        "{CPU_MODULE_VARIABLE}={level}: {} is missing or this processor cannot run it (levels here: {})",
        file.display(),
        cpu_levels(directory).join(", ")
      ),
    ));
  }
  Ok(())
}

/// Instruction-set levels whose modules lie in `directory`, sorted by name.
pub fn cpu_levels(directory: &Path) -> Vec<String> {
  let mut levels: Vec<_> = module_files(directory)
    .into_iter()
    .filter_map(|file| Some(file.strip_prefix("cpu-")?.to_owned()))
    .collect();
  levels.sort();
  levels
}

/// Names of the modules in `directory`, without `libggml-` and the extension.
fn module_files(directory: &Path) -> Vec<String> {
  let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
  entries
    .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
    .filter_map(|name| {
      let stem = PathBuf::from(&name).file_stem()?.to_str()?.to_owned();
      Some(stem.strip_prefix("lib").unwrap_or(&stem).strip_prefix("ggml-")?.to_owned())
    })
    .filter(|module| module != "base")
    .collect()
}

/// Which of several equally good modules ggml took is only visible in the process itself.
fn loaded_cpu_module(directory: &Path) -> Option<String> {
  let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
  cpu_levels(directory).into_iter().find(|level| maps.contains(&format!("/libggml-cpu-{level}.so")))
}

fn failures(directory: &Path) -> Vec<ModuleFailure> {
  // SAFETY: plain queries of the registry; names are static C strings.
  let registered: Vec<String> = unsafe {
    (0..sys::ggml_backend_reg_count())
      .map(|index| CStr::from_ptr(sys::ggml_backend_reg_name(sys::ggml_backend_reg_get(index))))
      .map(|name| name.to_string_lossy().to_lowercase())
      .collect()
  };
  module_files(directory)
    .into_iter()
    .filter(|module| !module.starts_with("cpu") && !registered.contains(module))
    .map(|module| ModuleFailure { module, reason: log::complaints() })
    .collect()
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

/// Version of the linked llama.cpp.
pub fn llama_version() -> String {
  // SAFETY: a static C string.
  unsafe { CStr::from_ptr(sys::llama_version()) }.to_string_lossy().into_owned()
}

/// Instruction sets that the loaded modules use, in llama.cpp's words.
pub fn system_info() -> String {
  // SAFETY: a static buffer of llama.cpp, copied at once.
  unsafe { CStr::from_ptr(sys::llama_print_system_info()) }.to_string_lossy().into_owned()
}

pub(crate) fn c_path(path: &Path) -> Result<CString> {
  let text = path.to_str().ok_or_else(|| {
    EngineError::new(ErrorCode::InvalidInput, format!("{} is not valid UTF-8", path.display()))
  })?;
  crate::ffi::c_string("the path", text)
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
