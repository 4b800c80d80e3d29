//! What could compute besides the processor, found by loading the drivers' own libraries.
//!
//! llama.cpp lists the devices of the modules that are installed. This tells what else the machine has: a GPU whose
//! driver works but for which no module is here, or a GPU without a driver. No program is run.

#[cfg(any(target_os = "linux", target_os = "android", test))]
use std::path::Path;

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
  fn missing(backend: &'static str, reason: String) -> Self {
    Self { backend, available: false, version: None, devices: Vec::new(), reason: Some(reason) }
  }
}

/// Looks for every accelerator of this platform. May take a fraction of a second: drivers are loaded.
pub fn accelerators() -> Vec<Accelerator> {
  let probes: &[fn() -> Accelerator] = &[
    #[cfg(any(target_os = "linux", windows))]
    cuda::probe,
    #[cfg(any(target_os = "linux", target_os = "android", windows))]
    vulkan::probe,
    #[cfg(target_os = "macos")]
    metal::probe,
  ];
  probes.iter().map(|probe| probe()).collect()
}

#[cfg(any(target_os = "linux", windows))]
mod cuda {
  use std::ffi::{CStr, c_char, c_int, c_uint};

  use libloading::{Library, Symbol};

  use super::{Accelerator, AcceleratorDevice};

  const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

  type Init = unsafe extern "C" fn(c_uint) -> c_int;
  type GetNumber = unsafe extern "C" fn(*mut c_int) -> c_int;
  type GetDevice = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
  type GetName = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
  type GetMemory = unsafe extern "C" fn(*mut usize, c_int) -> c_int;

  pub(super) fn probe() -> Accelerator {
    // SAFETY: the driver's library, loaded by the name under which the driver installs it.
    match unsafe { Library::new(LIBRARY) } {
      Err(error) => Accelerator::missing("cuda", format!("there is no NVIDIA driver: {error}")),
      Ok(library) => {
        let found = ask(&library);
        // A driver that has been started must not be unloaded.
        std::mem::forget(library);
        found.unwrap_or_else(|reason| Accelerator::missing("cuda", reason))
      }
    }
  }

  fn ask(library: &Library) -> Result<Accelerator, String> {
    // SAFETY: names and signatures are those of the CUDA driver API, stable since version 3.2; every pointer is to a
    // local variable of the right size.
    unsafe {
      let init: Symbol<'_, Init> = symbol(library, b"cuInit\0")?;
      checked("cuInit", init(0))?;
      let version: Symbol<'_, GetNumber> = symbol(library, b"cuDriverGetVersion\0")?;
      let count: Symbol<'_, GetNumber> = symbol(library, b"cuDeviceGetCount\0")?;
      let (mut number, mut devices) = (0, 0);
      checked("cuDriverGetVersion", version(&raw mut number))?;
      checked("cuDeviceGetCount", count(&raw mut devices))?;
      let devices = (0..devices).map(|index| device(library, index)).collect::<Result<Vec<_>, _>>()?;
      let available = !devices.is_empty();
      let reason = (!available).then(|| "the NVIDIA driver lists no device".to_owned());
      let version = Some(format!("{}.{}", number / 1000, number % 1000 / 10));
      Ok(Accelerator { backend: "cuda", available, version, devices, reason })
    }
  }

  /// # Safety
  /// The driver has been started.
  unsafe fn device(library: &Library, index: c_int) -> Result<AcceleratorDevice, String> {
    let (mut handle, mut memory) = (0, 0_usize);
    let mut name: [c_char; 256] = [0; 256];
    // SAFETY: as in `ask`; the driver ends the name with a zero within the length it is given.
    unsafe {
      let get: Symbol<'_, GetDevice> = symbol(library, b"cuDeviceGet\0")?;
      let get_name: Symbol<'_, GetName> = symbol(library, b"cuDeviceGetName\0")?;
      let get_memory: Symbol<'_, GetMemory> = symbol(library, b"cuDeviceTotalMem_v2\0")?;
      checked("cuDeviceGet", get(&raw mut handle, index))?;
      checked("cuDeviceGetName", get_name(name.as_mut_ptr(), 256, handle))?;
      checked("cuDeviceTotalMem", get_memory(&raw mut memory, handle))?;
      let name = CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned();
      Ok(AcceleratorDevice { name, memory_total: memory as u64 })
    }
  }

  unsafe fn symbol<'a, T>(library: &'a Library, name: &[u8]) -> Result<Symbol<'a, T>, String> {
    // SAFETY: the caller names a function together with its signature.
    unsafe { library.get(name) }.map_err(|error| format!("the NVIDIA driver is too old: {error}"))
  }

  fn checked(call: &str, status: c_int) -> Result<(), String> {
    match status {
      0 => Ok(()),
      100 => Err("the NVIDIA driver lists no device".to_owned()),
      code => Err(format!("the NVIDIA driver does not start: {call} returned {code}")),
    }
  }
}

#[cfg(any(target_os = "linux", target_os = "android", windows))]
mod vulkan {
  use std::ffi::c_int;

  use libloading::{Library, Symbol};

  use super::Accelerator;

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
    let devices = super::graphics_cards(std::path::Path::new("/"));
    #[cfg(windows)]
    let devices = Vec::new();
    // Android does not let an application list the devices of the kernel, and Windows has no such files.
    let hidden = cfg!(not(target_os = "linux"));
    let available = hidden || !devices.is_empty();
    let reason =
      (!available).then(|| "the Vulkan loader is installed, but there is no graphics card".to_owned());
    Accelerator { backend: "vulkan", available, version, devices, reason }
  }
}

#[cfg(target_os = "macos")]
mod metal {
  use libloading::{Library, Symbol};

  use super::Accelerator;

  const LIBRARY: &str = "/System/Library/Frameworks/Metal.framework/Metal";

  type DefaultDevice = unsafe extern "C" fn() -> *mut std::ffi::c_void;

  pub(super) fn probe() -> Accelerator {
    // SAFETY: the system's own framework; the function takes nothing and returns an object or null.
    let device = unsafe {
      Library::new(LIBRARY).and_then(|library| {
        let device: Symbol<'_, DefaultDevice> = library.get(b"MTLCreateSystemDefaultDevice\0")?;
        let device = device();
        std::mem::forget(library);
        Ok(device)
      })
    };
    match device {
      Ok(device) if !device.is_null() => {
        Accelerator { backend: "metal", available: true, version: None, devices: Vec::new(), reason: None }
      }
      Ok(_) => Accelerator::missing("metal", "Metal finds no device".to_owned()),
      Err(error) => Accelerator::missing("metal", format!("Metal cannot be loaded: {error}")),
    }
  }
}

/// Graphics cards that the kernel's drivers list below `root`.
#[cfg(any(target_os = "linux", target_os = "android", test))]
fn graphics_cards(root: &Path) -> Vec<AcceleratorDevice> {
  let Ok(entries) = std::fs::read_dir(root.join("sys/class/drm")) else { return Vec::new() };
  let mut cards: Vec<_> = entries
    .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
    .filter(|name| name.strip_prefix("card").is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit())))
    .collect();
  cards.sort();
  cards
    .iter()
    .filter_map(|card| graphics_card(&root.join("sys/class/drm").join(card).join("device")))
    .collect()
}

#[cfg(any(target_os = "linux", target_os = "android", test))]
fn graphics_card(device: &Path) -> Option<AcceleratorDevice> {
  let read = |name: &str| Some(std::fs::read_to_string(device.join(name)).ok()?.trim().to_owned());
  let vendor = match read("vendor")?.as_str() {
    "0x10de" => "NVIDIA",
    "0x1002" => "AMD",
    "0x8086" => "Intel",
    "0x5143" => "Qualcomm",
    "0x13b5" => "ARM",
    // Display adapters of virtual machines compute nothing.
    _ => return None,
  };
  let name = read("product_name").filter(|name| !name.is_empty());
  let memory_total = read("mem_info_vram_total").and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
  Some(AcceleratorDevice { name: name.unwrap_or_else(|| format!("{vendor} GPU")), memory_total })
}

#[cfg(test)]
mod tests {
  use super::*;
  use crate::hardware::cgroup::tests::Tree;

  #[test]
  fn every_accelerator_is_available_or_says_why_not() {
    let found = accelerators();
    assert!(!found.is_empty() || !cfg!(any(target_os = "linux", windows, target_os = "macos")));
    for accelerator in found {
      assert_ne!(accelerator.available, accelerator.reason.is_some(), "{accelerator:?}");
    }
  }

  #[test]
  fn cards_are_listed_with_their_vendor_and_memory() {
    let tree = Tree::new("cards");
    tree.write("sys/class/drm/card0/device/vendor", "0x1234\n");
    tree.write("sys/class/drm/card1/device/vendor", "0x1002\n");
    tree.write("sys/class/drm/card1/device/mem_info_vram_total", "17163091968\n");
    tree.write("sys/class/drm/card1-HDMI-A-1/status", "connected\n");
    tree.write("sys/class/drm/renderD128/device/vendor", "0x1002\n");
    tree.write("sys/class/drm/card2/device/vendor", "0x8086\n");
    let cards = graphics_cards(tree.root());
    let named: Vec<_> = cards.iter().map(|card| (card.name.as_str(), card.memory_total)).collect();
    assert_eq!(named, [("AMD GPU", 17_163_091_968), ("Intel GPU", 0)]);
    assert!(graphics_cards(&tree.root().join("nowhere")).is_empty());
  }
}
