//! The Vulkan loader.

use std::ffi::c_int;

use libloading::{Library, Symbol};

use super::accelerator::Accelerator;
#[cfg(any(target_os = "linux", target_os = "android"))]
use super::cards::graphics_cards;

const LIBRARY: &str = if cfg!(windows) {
  "vulkan-1.dll"
} else if cfg!(target_os = "android") {
  "libvulkan.so"
} else {
  "libvulkan.so.1"
};

type GetVersion = unsafe extern "C" fn(*mut u32) -> c_int;

pub(super) fn probe() -> Accelerator {
  // SAFETY: the loader's library, under the name by which it is installed.
  let library = match unsafe { Library::new(LIBRARY) } {
    Ok(library) => library,
    Err(error) => return Accelerator::missing("vulkan", format!("there is no Vulkan loader: {error}")),
  };
  let mut version = 0_u32;
  // SAFETY: signature of Vulkan 1.1; the loader answers without starting any driver.
  let status = unsafe {
    let get: Result<Symbol<'_, GetVersion>, _> = library.get(b"vkEnumerateInstanceVersion\0");
    get.map(|get| get(&raw mut version))
  };
  match status {
    Ok(0) => found(version),
    Ok(code) => Accelerator::missing("vulkan", format!("the Vulkan loader returned {code}")),
    Err(_) => Accelerator::missing("vulkan", "the Vulkan loader is older than 1.1".to_owned()),
  }
}

fn found(version: u32) -> Accelerator {
  let version = Some(format!("{}.{}", version >> 22 & 0x7f, version >> 12 & 0x3ff));
  #[cfg(any(target_os = "linux", target_os = "android"))]
  let devices = graphics_cards(std::path::Path::new("/"));
  #[cfg(windows)]
  let devices = Vec::new();
  // Android does not let an application list the devices of the kernel, and Windows has no such files.
  let hidden = cfg!(not(target_os = "linux"));
  let available = hidden || !devices.is_empty();
  let reason =
    (!available).then(|| "the Vulkan loader is installed, but there is no graphics card".to_owned());
  Accelerator { backend: "vulkan", available, version, devices, reason }
}
