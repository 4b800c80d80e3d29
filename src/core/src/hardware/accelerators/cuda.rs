//! NVIDIA's driver.

use std::ffi::{CStr, c_char, c_int, c_uint};

use libloading::{Library, Symbol};

use super::accelerator::{Accelerator, AcceleratorDevice};

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
