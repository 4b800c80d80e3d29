//! macOS: `sysctl`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use super::facts::HardwareFacts;

unsafe extern "C" {
  fn sysctlbyname(
    name: *const c_char,
    old: *mut c_void,
    old_length: *mut usize,
    new: *mut c_void,
    new_length: usize,
  ) -> c_int;
}

pub(super) fn refine(mut facts: HardwareFacts) -> HardwareFacts {
  if let Some(model) = text(c"machdep.cpu.brand_string") {
    facts.cpu_model = model;
  }
  if let Some(cores) = number(c"hw.physicalcpu").and_then(|cores| u32::try_from(cores).ok()) {
    facts.physical_cores = cores.clamp(1, facts.logical_cores);
  }
  facts.memory_total = number(c"hw.memsize").unwrap_or(0);
  // Free, purgeable and file-backed pages can be had without swapping; where the kernel keeps them secret half of the
  // memory is assumed to be free.
  let pages = [c"vm.page_free_count", c"vm.page_purgeable_count", c"vm.page_pageable_external_count"];
  let pages: Option<Vec<u64>> = pages.into_iter().map(number).collect();
  let available =
    pages.zip(number(c"hw.pagesize")).map(|(pages, size)| pages.iter().sum::<u64>().saturating_mul(size));
  facts.memory_available = available.unwrap_or(facts.memory_total / 2).min(facts.memory_total);
  // The level that the kernel's dispatch source of memory pressure reports.
  let level = number(c"kern.memorystatus_vm_pressure_level").and_then(|level| u32::try_from(level).ok());
  facts.memory_pressure = level.filter(|level| [1, 2, 4].contains(level));
  facts
}

/// Bytes of a value into `buffer`; how many were written.
fn read(name: &CStr, buffer: &mut [u8]) -> Option<usize> {
  let mut length = buffer.len();
  // SAFETY: the name is NUL-terminated; the kernel writes at most `length` bytes into the buffer of that length and
  // stores how many; no new value is set.
  let status =
    unsafe { sysctlbyname(name.as_ptr(), buffer.as_mut_ptr().cast(), &raw mut length, ptr::null_mut(), 0) };
  (status == 0).then_some(length)
}

/// A 32- or 64-bit number.
fn number(name: &CStr) -> Option<u64> {
  let mut buffer = [0; 8];
  match read(name, &mut buffer)? {
    4 | 8 => Some(u64::from_ne_bytes(buffer)),
    _ => None,
  }
}

fn text(name: &CStr) -> Option<String> {
  let mut buffer = [0; 256];
  let length = read(name, &mut buffer)?;
  let text = CStr::from_bytes_until_nul(buffer.get(..length)?).ok()?.to_str().ok()?.trim();
  (!text.is_empty()).then(|| text.to_owned())
}
