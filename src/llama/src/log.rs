//! Bridge from llama.cpp's log callback to `tracing`, and a memory of recent complaints for error messages.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_void};

use llama_cpp_sys_2 as sys;

const REMEMBERED: usize = 8;

thread_local! {
  /// Warnings and errors that llama.cpp logged on this thread: where it says why a load failed.
  static COMPLAINTS: RefCell<VecDeque<String>> = const { RefCell::new(VecDeque::new()) };
  /// Text of a line that llama.cpp logs in several calls.
  static LINE: RefCell<String> = const { RefCell::new(String::new()) };
  /// Set while an interrupted decode unwinds: llama.cpp calls what was asked for an error.
  static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

unsafe extern "C" fn on_log(level: sys::ggml_log_level, text: *const c_char, _data: *mut c_void) {
  if text.is_null() {
    return;
  }
  // SAFETY: llama.cpp passes a NUL-terminated string that lives during the call.
  let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
  // During thread exit the thread-locals may be gone; a lost log line is no harm.
  let _ = LINE.try_with(|line| {
    let mut line = line.borrow_mut();
    line.push_str(&text);
    if line.ends_with('\n') {
      emit(level, line.trim());
      line.clear();
    }
  });
}

fn emit(level: sys::ggml_log_level, line: &str) {
  if line.is_empty() {
    return;
  }
  if EXPECTED.get() {
    tracing::debug!(target: "llama.cpp", "{line}");
    return;
  }
  match level {
    sys::GGML_LOG_LEVEL_ERROR => {
      remember(line);
      tracing::error!(target: "llama.cpp", "{line}");
    }
    sys::GGML_LOG_LEVEL_WARN => {
      remember(line);
      tracing::warn!(target: "llama.cpp", "{line}");
    }
    sys::GGML_LOG_LEVEL_INFO => tracing::info!(target: "llama.cpp", "{line}"),
    _ => tracing::debug!(target: "llama.cpp", "{line}"),
  }
}

fn remember(line: &str) {
  let _ = COMPLAINTS.try_with(|complaints| {
    let mut complaints = complaints.borrow_mut();
    if complaints.len() == REMEMBERED {
      complaints.pop_front();
    }
    complaints.push_back(line.to_owned());
  });
}

/// Sends llama.cpp's and ggml's logs to `tracing` from now on.
pub(crate) fn install() {
  // SAFETY: the callback is a plain function without state.
  unsafe {
    sys::llama_log_set(Some(on_log), std::ptr::null_mut());
    crate::ffi::li_quiet();
  }
}

/// Whether complaints on this thread are the expected consequence of an interrupt.
pub(crate) fn expect_complaints(expected: bool) {
  EXPECTED.set(expected);
}

/// Forgets this thread's complaints: call before an operation whose failure they may explain.
pub(crate) fn forget() {
  COMPLAINTS.with_borrow_mut(VecDeque::clear);
}

/// What llama.cpp complained about on this thread since [`forget`], oldest first.
pub(crate) fn complaints() -> String {
  COMPLAINTS.with_borrow(|complaints| complaints.iter().map(String::as_str).collect::<Vec<_>>().join("; "))
}
