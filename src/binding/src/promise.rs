//! Work away from the JavaScript thread, as promises.

use local_inference_core::cancel::CancelToken;
use local_inference_core::error::EngineError;
use napi::Env;
use napi::bindgen_prelude::{PromiseRaw, ToNapiValue};

use crate::error::{lost, to_js};
use crate::process::exit;

/// Runs blocking work away from the JavaScript thread.
pub(crate) async fn blocking<T: Send + 'static>(
  work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> napi::Result<T> {
  let guarded = move || {
    let _work = exit::enter(&CancelToken::new())?;
    work()
  };
  tokio::task::spawn_blocking(guarded).await.map_err(|_| to_js(lost()))?.map_err(to_js)
}

/// A promise for `work`, which owns all that it uses: a JavaScript object may be gone before its promise settles (a
/// worker thread that is terminated frees its objects at once).
pub(crate) fn promise<T: ToNapiValue + Send + 'static>(
  env: &Env,
  work: impl Future<Output = napi::Result<T>> + Send + 'static,
) -> napi::Result<PromiseRaw<'_, T>> {
  env.spawn_future(work)
}

/// [`promise`] for blocking work.
pub(crate) fn blocking_promise<T: ToNapiValue + Send + 'static>(
  env: &Env,
  work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> napi::Result<PromiseRaw<'_, T>> {
  promise(env, blocking(work))
}
