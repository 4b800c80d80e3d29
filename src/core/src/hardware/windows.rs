//! Windows: memory from `GlobalMemoryStatusEx`, the processor's name from the environment.

use super::facts::HardwareFacts;

/// `MEMORYSTATUSEX`.
#[repr(C)]
struct MemoryStatus {
  length: u32,
  load: u32,
  total_physical: u64,
  available_physical: u64,
  total_page_file: u64,
  available_page_file: u64,
  total_virtual: u64,
  available_virtual: u64,
  available_extended_virtual: u64,
}

#[link(name = "kernel32")]
unsafe extern "system" {
  fn GlobalMemoryStatusEx(status: *mut MemoryStatus) -> i32;
}

/// Sibling threads are not told apart: the number of physical cores is that of hardware threads.
pub(super) fn refine(mut facts: HardwareFacts) -> HardwareFacts {
  if let Ok(model) = std::env::var("PROCESSOR_IDENTIFIER") {
    facts.cpu_model = model;
  }
  let mut status = MemoryStatus {
    length: u32::try_from(size_of::<MemoryStatus>()).unwrap_or(0),
    load: 0,
    total_physical: 0,
    available_physical: 0,
    total_page_file: 0,
    available_page_file: 0,
    total_virtual: 0,
    available_virtual: 0,
    available_extended_virtual: 0,
  };
  // SAFETY: the structure has the system's layout and its length field is set; the call writes nothing else.
  if unsafe { GlobalMemoryStatusEx(&raw mut status) } != 0 {
    facts.memory_total = status.total_physical;
    facts.memory_available = status.available_physical.min(status.total_physical);
  }
  facts
}
