//! The only mapping of engine errors to JavaScript: `CODE: message`.

use local_inference_core::cancel::CancelToken;
use local_inference_core::error::{EngineError, ErrorCode};
use napi::Env;
use napi::bindgen_prelude::{PromiseRaw, ToNapiValue};
use napi_derive::napi;

use crate::exit;

/// An engine error as a JavaScript error.
pub(crate) fn to_js(error: EngineError) -> napi::Error {
  napi::Error::from_reason(format!("{}: {error}", error.code()))
}

/// The error of a thread that ended without an answer.
pub(crate) fn lost() -> EngineError {
  EngineError::new(ErrorCode::Internal, "the worker ended without an answer")
}

/// The error of using something that was closed.
pub(crate) fn closed(what: &str) -> EngineError {
  EngineError::new(ErrorCode::Closed, format!("the {what} was closed"))
}

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

/// Every code that an error can carry.
#[napi]
pub fn error_codes() -> Vec<&'static str> {
  ErrorCode::ALL.iter().map(|code| code.as_str()).collect()
}
