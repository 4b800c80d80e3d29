//! Modules that could not be used.

use std::ffi::CStr;
use std::path::PathBuf;

use llama_cpp_sys_2 as sys;

use super::modules::modules;
use crate::log;

/// A module that lies in the package but could not be used.
#[derive(Debug, Clone)]
pub struct ModuleFailure {
  /// File name.
  pub module: String,
  /// Why, in llama.cpp's words.
  pub reason: String,
}

/// Modules in `folders` that ggml did not register, without those for other processors than this one.
pub(super) fn failures(folders: &[PathBuf]) -> Vec<ModuleFailure> {
  // SAFETY: plain queries of the registry; names are static C strings.
  let registered: Vec<String> = unsafe {
    (0..sys::ggml_backend_reg_count())
      .map(|index| CStr::from_ptr(sys::ggml_backend_reg_name(sys::ggml_backend_reg_get(index))))
      .map(|name| name.to_string_lossy().to_lowercase())
      .collect()
  };
  modules(folders)
    .into_iter()
    .filter(|module| !module.starts_with("cpu") && !registered.contains(module))
    .map(|module| ModuleFailure { module, reason: log::complaints() })
    .collect()
}
