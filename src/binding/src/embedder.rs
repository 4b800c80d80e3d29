//! An embedding context.

use std::sync::Arc;

use local_inference_core::cancel::CancelToken;
use local_inference_core::embed::{self, Truncate};
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::gguf::Pooling;
use local_inference_core::options::MAX_THREADS;
use local_inference_llama::embedder::{self, Embedder};
use local_inference_llama::model::Model;
use napi::Env;
use napi::bindgen_prelude::{Float32Array, PromiseRaw};
use napi_derive::napi;
use tokio::sync::{Mutex, oneshot};

use crate::children::Handle;
use crate::error::to_js;
use crate::numbers::{count, whole};
use crate::process::exit;
use crate::promise::{blocking_promise, promise};

#[napi(object, object_to_js = false)]
pub struct EmbedderOptions {
  pub context_size: Option<f64>,
  #[napi(ts_type = "\"mean\" | \"cls\" | \"last\"")]
  pub pooling: Option<String>,
  pub threads: Option<f64>,
}

#[napi(object, object_from_js = false)]
pub struct EmbedderInfo {
  pub dimensions: u32,
  pub max_tokens: u32,
  pub pooling: &'static str,
  pub threads: u32,
}

#[napi(object, object_to_js = false)]
pub struct EmbedOptions {
  #[napi(ts_type = "\"head\" | \"tail\" | \"error\"")]
  pub truncate: Option<String>,
  pub normalize: Option<bool>,
  pub dimensions: Option<f64>,
}

#[napi(object, object_from_js = false)]
pub struct Embeddings {
  pub vectors: Vec<Float32Array>,
  pub tokens: f64,
  pub truncated: u32,
}

impl TryFrom<EmbedderOptions> for embedder::EmbedderOptions {
  type Error = EngineError;

  fn try_from(input: EmbedderOptions) -> Result<Self> {
    let pooling = match input.pooling.as_deref() {
      None => None,
      Some("mean") => Some(Pooling::Mean),
      Some("cls") => Some(Pooling::Cls),
      Some("last") => Some(Pooling::Last),
      Some(other) => {
        let message = format!("pooling must be mean, cls or last, got {other}");
        return Err(EngineError::new(ErrorCode::InvalidInput, message));
      }
    };
    Ok(Self {
      context_size: whole("contextSize", input.context_size)?,
      pooling,
      threads: threads(input.threads)?,
    })
  }
}

fn threads(wanted: Option<f64>) -> Result<Option<u32>> {
  match whole("threads", wanted)? {
    Some(threads) if !(1..=MAX_THREADS).contains(&threads) => Err(EngineError::new(
      ErrorCode::InvalidInput,
      format!("threads must be between 1 and {MAX_THREADS}, got {threads}"),
    )),
    threads => Ok(threads),
  }
}

#[napi]
pub struct NativeEmbedder {
  embedder: Embedder,
  handle: Arc<Handle>,
}

impl NativeEmbedder {
  pub(crate) fn new(embedder: Embedder, handle: Handle) -> Self {
    Self { embedder, handle: Arc::new(handle) }
  }
}

/// What to do with the vectors of one call.
#[derive(Clone, Copy)]
struct Shape {
  normalize: bool,
  dimensions: Option<u32>,
}

struct Prepared {
  texts: Vec<Vec<i32>>,
  tokens: usize,
  truncated: u32,
}

#[napi]
impl NativeEmbedder {
  #[napi(getter)]
  pub fn info(&self) -> EmbedderInfo {
    let info = self.embedder.info();
    EmbedderInfo {
      dimensions: info.dimensions,
      max_tokens: info.max_tokens,
      pooling: info.pooling.as_str(),
      threads: info.threads,
    }
  }

  /// Queues texts; they share decodes with what other callers have queued.
  #[napi]
  pub fn embed(&self, texts: Vec<String>, options: EmbedOptions) -> napi::Result<NativeEmbedding> {
    let policy = options.truncate.map_or(Ok(Truncate::Head), |text| text.parse()).map_err(to_js)?;
    let dimensions = whole("dimensions", options.dimensions).map_err(to_js)?;
    let shape = Shape { normalize: options.normalize.unwrap_or(true), dimensions };
    check_dimensions(shape.dimensions, self.embedder.info().dimensions).map_err(to_js)?;
    let cancel = CancelToken::new();
    let work = exit::enter(&cancel).map_err(to_js)?;
    let (sender, receiver) = oneshot::channel();
    let model = self.handle.shared().model().map_err(to_js)?;
    let (embedder, job_cancel) = (self.embedder.clone(), cancel.clone());
    napi::bindgen_prelude::spawn_blocking(move || {
      let limit = embedder.info().max_tokens as usize;
      match prepare(&model, &texts, limit, policy) {
        Err(error) => drop(sender.send(Err(error))),
        Ok(prepared) => {
          let (tokens, truncated) = (prepared.tokens, prepared.truncated);
          let reply = move |outcome: Result<Vec<Vec<f32>>>| {
            let shaped = outcome.and_then(|vectors| shape_all(vectors, shape));
            drop(work);
            // Nobody waits any more: fine.
            let _ = sender.send(shaped.map(|vectors| (vectors, tokens, truncated)));
          };
          embedder.submit(prepared.texts, job_cancel, Box::new(reply));
        }
      }
    });
    let result = Mutex::new(Some(receiver));
    Ok(NativeEmbedding(Arc::new(Waiting { result, cancel, handle: Arc::clone(&self.handle) })))
  }

  /// Fails what waits with CLOSED and frees the context. Idempotent.
  #[napi(ts_return_type = "Promise<void>")]
  pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
    let handle = Arc::clone(&self.handle);
    blocking_promise(env, move || {
      handle.close();
      Ok(())
    })
  }
}

fn check_dimensions(wanted: Option<u32>, available: u32) -> Result<()> {
  match wanted {
    Some(wanted) if wanted == 0 || wanted > available => Err(EngineError::new(
      ErrorCode::InvalidInput,
      format!("dimensions is {wanted}: the model gives 1 to {available}"),
    )),
    _ => Ok(()),
  }
}

fn prepare(model: &Model, texts: &[String], limit: usize, policy: Truncate) -> Result<Prepared> {
  let mut prepared = Prepared { texts: Vec::with_capacity(texts.len()), tokens: 0, truncated: 0 };
  for text in texts {
    // The tokens that frame a text give a vector even to nothing; it means nothing.
    let tokens = model.tokenize(text, true, false)?;
    if tokens.is_empty() || text.trim().is_empty() {
      return Err(EngineError::new(ErrorCode::InvalidInput, "a text to embed is empty"));
    }
    let (tokens, cut) = embed::fit_tokens(tokens, limit, policy, model.specials())?;
    prepared.tokens += tokens.len();
    prepared.truncated += u32::from(cut);
    prepared.texts.push(tokens);
  }
  Ok(prepared)
}

fn shape_all(mut vectors: Vec<Vec<f32>>, shape: Shape) -> Result<Vec<Vec<f32>>> {
  for vector in &mut vectors {
    if let Some(dimensions) = shape.dimensions {
      embed::reduce_dimensions(vector, dimensions as usize)?;
    }
    if shape.normalize && !embed::normalize(vector) {
      return Err(EngineError::new(
        ErrorCode::DecodeFailed,
        "the model returned a zero or non-finite embedding",
      ));
    }
  }
  Ok(vectors)
}

type EmbeddingResult = Result<(Vec<Vec<f32>>, usize, u32)>;

/// The consumer's end.
struct Waiting {
  result: Mutex<Option<oneshot::Receiver<EmbeddingResult>>>,
  cancel: CancelToken,
  handle: Arc<Handle>,
}

impl Waiting {
  async fn result(&self) -> napi::Result<Embeddings> {
    let receiver = self.result.lock().await.take();
    let taken = || to_js(EngineError::new(ErrorCode::InvalidInput, "the result has already been taken"));
    let reply = receiver.ok_or_else(taken)?.await;
    let (vectors, tokens, truncated) =
      reply.unwrap_or_else(|_| Err(self.handle.lost("embedder"))).map_err(to_js)?;
    Ok(Embeddings {
      vectors: vectors.into_iter().map(Float32Array::new).collect(),
      tokens: count(tokens),
      truncated,
    })
  }
}

impl Drop for Waiting {
  fn drop(&mut self) {
    self.cancel.cancel();
  }
}

#[napi]
pub struct NativeEmbedding(Arc<Waiting>);

#[napi]
impl NativeEmbedding {
  /// The vectors, in the order of the texts. Can be taken once.
  #[napi]
  pub fn result<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Embeddings>> {
    let waiting = Arc::clone(&self.0);
    promise(env, async move { waiting.result().await })
  }

  #[napi]
  pub fn cancel(&self) {
    self.0.cancel.cancel();
  }
}
