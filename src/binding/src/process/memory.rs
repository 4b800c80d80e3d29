//! What the process's allocator keeps of freed memory.

/// Buffers from this size on are memory maps of their own, which go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_FROM: libc::c_int = 1 << 20;

/// Keeps glibc from hoarding caches of models. By itself it raises the size from which buffers are mapped to that of the
/// largest one freed, up to 32 MiB; smaller ones then come from an arena of each thread, whose end `malloc_trim` does not
/// return: every thread that once ran a model would keep up to 64 MiB. Whoever sets glibc's own variables has decided.
pub(crate) fn keep_little() {
  #[cfg(all(target_os = "linux", target_env = "gnu"))]
  {
    let decided = ["MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"];
    if decided.iter().any(|name| std::env::var_os(name).is_some()) {
      return;
    }
    // SAFETY: both only set numbers of the allocator.
    unsafe {
      libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM);
      libc::mallopt(libc::M_TRIM_THRESHOLD, MAPPED_FROM);
    }
  }
}

/// Gives what was freed back to the machine.
pub(crate) fn return_free() {
  #[cfg(all(target_os = "linux", target_env = "gnu"))]
  // SAFETY: no preconditions.
  unsafe {
    libc::malloc_trim(0);
  }
}
