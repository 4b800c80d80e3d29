//! What could compute besides the processor, found by loading the drivers' own libraries.
//!
//! llama.cpp lists the devices of the modules that are installed. This tells what else the machine has: a GPU whose
//! driver works but for which no module is here, or a GPU without a driver. No program is run.

mod accelerator;
#[cfg(any(target_os = "linux", target_os = "android", test))]
mod cards;
#[cfg(any(target_os = "linux", windows))]
mod cuda;
#[cfg(target_os = "macos")]
mod metal;
#[cfg(any(target_os = "linux", target_os = "android", windows))]
mod vulkan;

pub use accelerator::{Accelerator, AcceleratorDevice};

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

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn every_accelerator_is_available_or_says_why_not() {
    let found = accelerators();
    assert!(!found.is_empty() || !cfg!(any(target_os = "linux", windows, target_os = "macos")));
    for accelerator in found {
      assert_ne!(accelerator.available, accelerator.reason.is_some(), "{accelerator:?}");
    }
  }
}
