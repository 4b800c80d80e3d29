//! Apple's framework.

use libloading::{Library, Symbol};

use super::accelerator::Accelerator;

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
