//! Where this library lies.

use std::path::PathBuf;

use local_inference_core::error::{EngineError, ErrorCode, Result};

/// The folder of this very library: the package may be anywhere, and symbolic links are already resolved by Node.
pub(crate) fn folder() -> Result<PathBuf> {
  let missing = || EngineError::new(ErrorCode::BackendUnavailable, "the addon cannot find its own folder");
  // SAFETY: an all-zero Dl_info is valid, and the address is one of our own functions.
  let path = unsafe {
    let mut info: libc::Dl_info = std::mem::zeroed();
    if libc::dladdr(folder as *const libc::c_void, &raw mut info) == 0 || info.dli_fname.is_null() {
      return Err(missing());
    }
    PathBuf::from(std::ffi::CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned())
  };
  path.parent().map(PathBuf::from).ok_or_else(missing)
}
