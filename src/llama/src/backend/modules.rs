//! ggml's compute modules: files named `libggml-*`, of which each processor or device takes its own.

use std::path::{Path, PathBuf};

use llama_cpp_sys_2 as sys;
use local_inference_core::error::{EngineError, ErrorCode, Result};

use crate::ffi::c_path;

/// Names a ggml-cpu module (`haswell`, `zen4`, ...) to use instead of the best one: for tests and support.
pub const CPU_MODULE_VARIABLE: &str = "LOCAL_INFERENCE_CPU_MODULE";

/// Loads the best module of each kind of the first folder, and every module of the others, which bring further devices:
/// a second module for the processor would make a second device of it.
pub(super) fn load(folders: &[PathBuf]) -> Result<()> {
  let Some((first, others)) = folders.split_first() else { return Ok(()) };
  let path = c_path(first)?;
  // SAFETY: a valid C string; ggml scans the folder and loads the best module of each kind.
  unsafe { sys::ggml_backend_load_all_from_path(path.as_ptr()) }
  for file in others.iter().flat_map(|folder| module_files(folder)).filter(|file| !file.is_of_cpu()) {
    let path = c_path(&file.path)?;
    // SAFETY: a valid C string; what is no module, or cannot run here, is refused and not registered.
    unsafe { sys::ggml_backend_load(path.as_ptr()) };
  }
  Ok(())
}

/// Loads the ggml-cpu module of `level`, and no other module.
pub(super) fn load_cpu_module(folders: &[PathBuf], level: &str) -> Result<()> {
  let name = format!("libggml-cpu-{level}.so");
  let files = || folders.iter().map(|folder| folder.join(&name));
  let file = files().find(|file| file.exists()).or_else(|| files().next()).unwrap_or_default();
  let path = c_path(&file)?;
  // SAFETY: a valid C string; a module that this processor cannot run is refused by its own score function.
  let registered = unsafe { sys::ggml_backend_load(path.as_ptr()) };
  if registered.is_null() {
    return Err(EngineError::new(
      ErrorCode::BackendUnavailable,
      format!(
        "{CPU_MODULE_VARIABLE}={level}: {} is missing or this processor cannot run it (levels here: {})",
        file.display(),
        cpu_levels(folders).join(", ")
      ),
    ));
  }
  Ok(())
}

/// Instruction-set levels whose modules lie in `folders`, sorted by name.
pub fn cpu_levels(folders: &[PathBuf]) -> Vec<String> {
  let mut levels: Vec<_> =
    modules(folders).into_iter().filter_map(|module| Some(module.strip_prefix("cpu-")?.to_owned())).collect();
  levels.sort();
  levels.dedup();
  levels
}

/// Which of several equally good modules ggml took is only visible in the process itself.
pub(super) fn loaded_cpu_module(folders: &[PathBuf]) -> Option<String> {
  let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
  cpu_levels(folders).into_iter().find(|level| maps.contains(&format!("/libggml-cpu-{level}.so")))
}

/// Names of the modules in `folders`, without `libggml-` and the extension.
pub(super) fn modules(folders: &[PathBuf]) -> Vec<String> {
  folders.iter().flat_map(|folder| module_files(folder)).map(|file| file.module).collect()
}

struct ModuleFile {
  module: String,
  path: PathBuf,
}

impl ModuleFile {
  fn is_of_cpu(&self) -> bool {
    self.module.starts_with("cpu")
  }
}

fn module_files(folder: &Path) -> Vec<ModuleFile> {
  let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
  entries
    .filter_map(|entry| {
      let path = entry.ok()?.path();
      let stem = path.file_stem()?.to_str()?;
      let module = stem.strip_prefix("lib").unwrap_or(stem).strip_prefix("ggml-")?.to_owned();
      (module != "base").then_some(ModuleFile { module, path })
    })
    .collect()
}
