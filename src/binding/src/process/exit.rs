//! The end of the process. `exit` destroys the static objects of the C++ libraries while other threads go on, and a
//! thread that computes would read freed memory: so everything native is stopped first.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};

use local_inference_core::cancel::CancelToken;
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::sync::lock;
use napi::Env;
use napi::bindgen_prelude::{FnArgs, Function, JsObjectValue as _, Object};
use napi_derive::napi;

/// What the end of the process closes.
pub(crate) trait Close: Send + Sync {
  /// Idempotent; a second caller waits for the first.
  fn close(&self);
}

struct State {
  exiting: bool,
  next: u64,
  running: BTreeMap<u64, CancelToken>,
  children: Vec<Weak<dyn Close>>,
}

static STATE: Mutex<State> =
  Mutex::new(State { exiting: false, next: 0, running: BTreeMap::new(), children: Vec::new() });
static FINISHED: Condvar = Condvar::new();

/// Native work in progress. The end of the process cancels it and waits for its drop.
pub(crate) struct Work(u64);

/// Announces native work that `cancel` stops.
///
/// # Errors
/// `CLOSED` when the process is ending.
pub(crate) fn enter(cancel: &CancelToken) -> Result<Work> {
  let mut state = lock(&STATE);
  if state.exiting {
    return Err(EngineError::new(ErrorCode::Closed, "the process is ending"));
  }
  let id = state.next;
  state.next += 1;
  state.running.insert(id, cancel.clone());
  Ok(Work(id))
}

impl Drop for Work {
  fn drop(&mut self) {
    lock(&STATE).running.remove(&self.0);
    FINISHED.notify_all();
  }
}

/// Has the end of the process close `child`. The caller is within [`Work`].
pub(crate) fn watch<T: Close + 'static>(child: &Arc<T>) {
  let child: Weak<dyn Close> = Arc::<T>::downgrade(child);
  let children = &mut lock(&STATE).children;
  children.retain(|child| child.strong_count() > 0);
  children.push(child);
}

extern "C" fn stop() {
  let mut state = lock(&STATE);
  state.exiting = true;
  for cancel in state.running.values() {
    cancel.cancel();
  }
  let children = std::mem::take(&mut state.children);
  drop(state);
  close(children);
  let running = |state: &mut State| !state.running.is_empty();
  let mut state = FINISHED.wait_while(lock(&STATE), running).unwrap_or_else(PoisonError::into_inner);
  // Those that were being opened.
  let children = std::mem::take(&mut state.children);
  drop(state);
  close(children);
}

fn close(children: Vec<Weak<dyn Close>>) {
  for child in children.iter().filter_map(Weak::upgrade) {
    child.close();
  }
}

/// Sets the hook of `exit`. What was registered last runs first, and the libraries create some of their static objects
/// on first use: so it is set again after what creates them.
pub(crate) fn arm() {
  const ENOUGH: usize = 64;
  static ARMED: AtomicUsize = AtomicUsize::new(0);
  if ARMED.fetch_add(1, Ordering::Relaxed) < ENOUGH {
    // SAFETY: `stop` may run at any time; it waits for other threads only.
    unsafe { libc::atexit(stop) };
  }
}

/// Stops before `exit` is called where JavaScript knows that it will be: static objects that are being created at that
/// moment are then safe as well.
#[napi(module_exports)]
pub fn register(_exports: Object, env: Env) -> napi::Result<()> {
  let process: Object = env.get_global()?.get_named_property("process")?;
  if !is_main_thread(&process).unwrap_or(false) {
    return Ok(());
  }
  let listener = env.create_function_from_closure::<(), (), _>("stopLocalInference", |_| {
    stop();
    Ok(())
  })?;
  let on: Function<Listen, napi::Unknown> = process.get_named_property("on")?;
  on.apply(process, FnArgs::from(("exit", listener)))?;
  Ok(())
}

/// Arguments of `process.on`.
type Listen<'a> = FnArgs<(&'a str, Function<'a, (), ()>)>;

/// A worker thread has an `exit` event of its own, at which the process goes on.
fn is_main_thread(process: &Object) -> napi::Result<bool> {
  let builtin: Function<&str, Object> = process.get_named_property("getBuiltinModule")?;
  builtin.call("node:worker_threads")?.get_named_property("isMainThread")
}
