//! Who owns what: JavaScript's handles keep a context or an embedder running, a model closes all of its own.

use std::sync::{Arc, Mutex};

use local_inference_core::cancel::CancelToken;
use local_inference_core::error::{EngineError, Result};
use local_inference_core::sync::lock;
use local_inference_llama::embedder::Embedder;
use local_inference_llama::model::Model;
use local_inference_llama::running::RunningContext;

use crate::error::{closed, lost};
use crate::process::exit::{self, Close};
use crate::process::memory;

/// What must be closed before the weights are freed.
pub(crate) enum Worker {
  Context(RunningContext),
  Embedder(Embedder),
}

struct Child {
  worker: Worker,
  /// Held while closing: whoever closes second waits until the first is done.
  closed: Mutex<bool>,
}

impl Close for Child {
  fn close(&self) {
    let mut closed = lock(&self.closed);
    if !*closed {
      match &self.worker {
        Worker::Context(context) => context.close(),
        Worker::Embedder(embedder) => embedder.close(),
      }
      *closed = true;
    }
  }
}

/// The weights as JavaScript's objects share them: closing takes them from all, whatever is still referenced.
#[derive(Default)]
pub(crate) struct Shared {
  model: Mutex<Option<Model>>,
  children: Mutex<Vec<Arc<Child>>>,
  closing: Mutex<()>,
}

impl Shared {
  pub(crate) fn new(model: Model) -> Arc<Self> {
    Arc::new(Self { model: Mutex::new(Some(model)), ..Self::default() })
  }

  /// The model while it is open.
  ///
  /// # Errors
  /// `CLOSED`.
  pub(crate) fn model(&self) -> Result<Model> {
    lock(&self.model).clone().ok_or_else(|| closed("model"))
  }

  /// Takes a worker that was opened with this model into its care.
  ///
  /// # Errors
  /// `CLOSED` when the model was closed meanwhile; the worker is then closed as well.
  pub(crate) fn adopt(self: &Arc<Self>, worker: Worker) -> Result<Handle> {
    let child = Arc::new(Child { worker, closed: Mutex::new(false) });
    exit::watch(&child);
    lock(&self.children).push(Arc::clone(&child));
    let handle = Handle { shared: Arc::clone(self), child };
    // After the push: a model that is closed now closes the child, and one that was closed before is noticed here.
    self.model().inspect_err(|_| handle.close())?;
    Ok(handle)
  }

  /// Closes every worker and frees the weights. Idempotent; a second caller waits for the first.
  pub(crate) fn close(&self) {
    let _closing = lock(&self.closing);
    let model = lock(&self.model).take();
    let children = std::mem::take(&mut *lock(&self.children));
    for child in children {
      child.close();
    }
    drop(model);
    memory::return_free();
  }
}

/// A running worker in the hands of JavaScript's objects. The last of them to go closes it.
pub(crate) struct Handle {
  shared: Arc<Shared>,
  child: Arc<Child>,
}

impl Handle {
  pub(crate) fn shared(&self) -> &Shared {
    &self.shared
  }

  /// Ends the worker. Idempotent; a second caller waits for the first.
  pub(crate) fn close(&self) {
    self.child.close();
    lock(&self.shared.children).retain(|other| !Arc::ptr_eq(other, &self.child));
    memory::return_free();
  }

  /// Why a worker dropped a request without an answer.
  pub(crate) fn lost(&self, what: &str) -> EngineError {
    // A closing worker holds the lock and may drop what came too late.
    match self.child.closed.try_lock().as_deref() {
      Ok(false) => lost(),
      _ => closed(what),
    }
  }
}

impl Drop for Handle {
  /// The safety net of a worker that nobody closed. Not on the JavaScript thread: closing waits for the decode.
  fn drop(&mut self) {
    let (shared, child) = (Arc::clone(&self.shared), Arc::clone(&self.child));
    if child.closed.try_lock().is_ok_and(|closed| *closed) {
      return;
    }
    let close = move || {
      let Ok(_work) = exit::enter(&CancelToken::new()) else {
        // Closed at the end of the process; the weights are not worth freeing then.
        std::mem::forget(shared);
        return;
      };
      lock(&shared.children).retain(|other| !Arc::ptr_eq(other, &child));
      child.close();
    };
    // Without a thread to spare the worker stays until the process ends.
    let _ = std::thread::Builder::new().name("closing".to_owned()).spawn(close);
  }
}
