//! Start of llama.cpp, once per process.

use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::OnceLock;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_sys_2 as sys;
use local_inference_core::error::{EngineError, ErrorCode, Result};

use super::devices::devices;
use super::failures::{ModuleFailure, failures};
use super::modules::{CPU_MODULE_VARIABLE, load, load_cpu_module, loaded_cpu_module};
use crate::log;

/// The started backend; one per process.
#[derive(Debug)]
pub struct Backend {
  /// Where its modules were looked for.
  pub folders: Vec<PathBuf>,
  /// Instruction-set level of the loaded ggml-cpu module, such as `zen4`.
  pub cpu_module: Option<String>,
  /// Modules that could not be used.
  pub failures: Vec<ModuleFailure>,
  // Dropping it would end llama.cpp under live models.
  _started: LlamaBackend,
}

static BACKEND: OnceLock<Result<Backend>> = OnceLock::new();

/// Loads the compute modules that lie in `folders` and starts llama.cpp. The module for the processor comes from the first
/// folder. The first call decides; later calls return its outcome.
///
/// # Errors
/// `BACKEND_UNAVAILABLE` when no CPU module can be loaded.
pub fn start(folders: &[PathBuf]) -> Result<&'static Backend> {
  BACKEND.get_or_init(|| begin(folders)).as_ref().map_err(Clone::clone)
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

fn begin(folders: &[PathBuf]) -> Result<Backend> {
  log::install();
  log::forget();
  match std::env::var(CPU_MODULE_VARIABLE) {
    Ok(level) if !level.is_empty() => load_cpu_module(folders, &level)?,
    _ => load(folders)?,
  }
  // Without a CPU device llama.cpp would later search other directories, the current one among them.
  if !devices().iter().any(|device| device.kind == "cpu") {
    let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    return Err(EngineError::new(
      ErrorCode::BackendUnavailable,
      format!(
        "no CPU compute module could be loaded from {}: reinstall the platform package ({})",
        folders.join(", "),
        log::complaints()
      ),
    ));
  }
  let started = LlamaBackend::init()
    .map_err(|error| EngineError::new(ErrorCode::BackendUnavailable, error.to_string()))?;
  Ok(Backend {
    folders: folders.to_vec(),
    cpu_module: loaded_cpu_module(folders),
    failures: failures(folders),
    _started: started,
  })
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
