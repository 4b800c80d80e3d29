//! Loading runs on a thread of its own; JavaScript polls its progress and may cancel it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use local_inference_core::cancel::CancelToken;
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::options::LoadOptions;
use local_inference_llama::model::Model;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;
use tokio::sync::{Mutex, oneshot};

use crate::error::{lost, to_js};
use crate::model::NativeModel;
use crate::numbers::{bytes, signed};
use crate::process::exit;
use crate::promise::{blocking, promise};

#[napi(object, js_name = "LoadOptions", object_to_js = false)]
pub struct JsLoadOptions {
  pub gpu_layers: Option<f64>,
  pub use_mmap: Option<bool>,
  pub use_mlock: Option<bool>,
  pub check_tensors: Option<bool>,
  pub ignore_memory_limit: Option<bool>,
  /// Loads the multi-token-prediction heads in the file, with which a context with `heads` drafts. Default false: they take
  /// the memory of a layer each.
  pub heads: Option<bool>,
  pub memory_headroom_bytes: Option<f64>,
}

impl TryFrom<JsLoadOptions> for LoadOptions {
  type Error = EngineError;

  fn try_from(options: JsLoadOptions) -> Result<Self> {
    let defaults = Self::default();
    Ok(Self {
      gpu_layers: signed("gpuLayers", options.gpu_layers, defaults.gpu_layers)?,
      use_mmap: options.use_mmap.unwrap_or(defaults.use_mmap),
      use_mlock: options.use_mlock.unwrap_or(defaults.use_mlock),
      check_tensors: options.check_tensors.unwrap_or(defaults.check_tensors),
      ignore_memory_limit: options.ignore_memory_limit.unwrap_or(defaults.ignore_memory_limit),
      heads: options.heads.unwrap_or(defaults.heads),
      memory_headroom: bytes("memoryHeadroomBytes", options.memory_headroom_bytes)?,
    })
  }
}

/// What the loading thread and JavaScript share.
struct Loading {
  progress: Arc<AtomicU32>,
  cancel: CancelToken,
  result: Mutex<Option<oneshot::Receiver<Result<Model>>>>,
}

/// Starts to load the GGUF at `path`.
#[napi]
pub fn load_model(path: String, options: JsLoadOptions) -> napi::Result<NativeLoading> {
  let options = LoadOptions::try_from(options).map_err(to_js)?;
  options.validate().map_err(to_js)?;
  let progress = Arc::new(AtomicU32::new(0));
  let cancel = CancelToken::new();
  let (sender, receiver) = oneshot::channel();
  let work = exit::enter(&cancel).map_err(to_js)?;
  let (thread_progress, thread_cancel) = (Arc::clone(&progress), cancel.clone());
  std::thread::Builder::new()
    .name("model-loading".to_owned())
    .spawn(move || {
      let _work = work;
      let report = |value: f32| thread_progress.store(value.to_bits(), Ordering::Relaxed);
      let outcome = crate::backend::start(Vec::new())
        .and_then(|_| Model::load(&PathBuf::from(path), &options, &report, &thread_cancel));
      exit::arm();
      // Nobody waits any more: the model is freed here.
      let _ = sender.send(outcome);
    })
    .map_err(|error| {
      to_js(EngineError::new(ErrorCode::Internal, format!("no thread could be started: {error}")))
    })?;
  Ok(NativeLoading(Arc::new(Loading { progress, cancel, result: Mutex::new(Some(receiver)) })))
}

#[napi]
pub struct NativeLoading(Arc<Loading>);

#[napi]
impl NativeLoading {
  /// 0 to 1.
  #[napi]
  pub fn progress(&self) -> f64 {
    f64::from(f32::from_bits(self.0.progress.load(Ordering::Relaxed)))
  }

  /// Stops the load; the result rejects with CANCELLED.
  #[napi]
  pub fn cancel(&self) {
    self.0.cancel.cancel();
  }

  /// The model. Can be taken once.
  #[napi]
  pub fn result<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, NativeModel>> {
    let loading = Arc::clone(&self.0);
    promise(env, async move { loading.result().await })
  }
}

impl Loading {
  async fn result(&self) -> napi::Result<NativeModel> {
    let receiver = self.result.lock().await.take();
    let taken = || to_js(EngineError::new(ErrorCode::InvalidInput, "the result has already been taken"));
    let outcome = receiver.ok_or_else(taken)?.await;
    let model = outcome.unwrap_or_else(|_| Err(lost())).map_err(to_js)?;
    if self.cancel.is_cancelled() {
      // It came too late to stop the load.
      blocking(move || {
        drop(model);
        Ok(())
      })
      .await?;
      return Err(to_js(EngineError::new(ErrorCode::Cancelled, "loading was cancelled")));
    }
    Ok(NativeModel::new(model))
  }
}

impl Drop for Loading {
  fn drop(&mut self) {
    self.cancel.cancel();
  }
}
