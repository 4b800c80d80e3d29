//! A context for generation.

use std::sync::Arc;

use local_inference_core::cancel::CancelToken;
use local_inference_core::error::EngineError;
use local_inference_core::generate::{Event, Request, Sink as _};
use local_inference_core::options::{self, FlashAttention};
use local_inference_llama::session::Session;
use napi_derive::napi;

use crate::children::Handle;
use crate::error::{blocking, to_js};
use crate::generate::{GenerateInput, Prompt};
use crate::numbers::{bytes, number, whole};
use crate::stream::{NativeStream, channel};

#[napi(object, object_to_js = false)]
pub struct ContextOptions {
  pub context_size: Option<f64>,
  pub kv_type_k: Option<String>,
  pub kv_type_v: Option<String>,
  pub batch_size: Option<f64>,
  pub micro_batch_size: Option<f64>,
  pub threads: Option<f64>,
  #[napi(ts_type = "\"auto\" | \"on\" | \"off\"")]
  pub flash_attention: Option<String>,
  pub memory_headroom_bytes: Option<f64>,
}

#[napi(object, object_from_js = false)]
pub struct ContextInfo {
  pub context_size: u32,
  pub kv_type_k: &'static str,
  pub kv_type_v: &'static str,
  pub kv_bytes: f64,
  pub threads: u32,
  pub batch_size: u32,
  pub micro_batch_size: u32,
  pub training_context: u32,
  pub reason: String,
}

impl TryFrom<ContextOptions> for options::ContextOptions {
  type Error = napi::Error;

  fn try_from(input: ContextOptions) -> napi::Result<Self> {
    let defaults = Self::default();
    let options = (|| {
      Ok::<_, EngineError>(Self {
        context_size: whole("contextSize", input.context_size)?,
        kv_type_k: input.kv_type_k.map(|text| text.parse()).transpose()?,
        kv_type_v: input.kv_type_v.map(|text| text.parse()).transpose()?,
        batch_size: whole("batchSize", input.batch_size)?.unwrap_or(defaults.batch_size),
        micro_batch_size: whole("microBatchSize", input.micro_batch_size)?
          .unwrap_or(defaults.micro_batch_size),
        threads: whole("threads", input.threads)?,
        flash_attention: input.flash_attention.map_or(Ok(FlashAttention::default()), |text| text.parse())?,
        parallel: defaults.parallel,
        memory_headroom: bytes("memoryHeadroomBytes", input.memory_headroom_bytes)?,
      })
    })();
    options.map_err(to_js)
  }
}

#[napi]
pub struct NativeContext {
  session: Session,
  handle: Arc<Handle>,
  training_context: u32,
}

impl NativeContext {
  pub(crate) fn new(session: Session, handle: Handle, training_context: u32) -> Self {
    Self { session, handle: Arc::new(handle), training_context }
  }
}

#[napi]
impl NativeContext {
  #[napi(getter)]
  pub fn info(&self) -> ContextInfo {
    let info = self.session.info();
    ContextInfo {
      context_size: info.context_size,
      kv_type_k: info.plan.kv_k.as_str(),
      kv_type_v: info.plan.kv_v.as_str(),
      kv_bytes: number(info.plan.kv_bytes),
      threads: info.threads,
      batch_size: info.batch_size,
      micro_batch_size: info.micro_batch_size,
      training_context: self.training_context,
      reason: info.plan.reason.clone(),
    }
  }

  /// Queues a generation. Bad options throw here; everything later arrives through the stream.
  #[napi]
  pub fn generate(&self, input: GenerateInput) -> napi::Result<NativeStream> {
    let (prompt, options) = input.split().map_err(to_js)?;
    let model = self.handle.shared().model().map_err(to_js)?;
    options.validate(model.vocabulary_size()).map_err(to_js)?;
    let cancel = CancelToken::new();
    let (mut sink, stream) = channel(Arc::clone(&self.handle), self.session.clone(), cancel.clone());
    let session = self.session.clone();
    // A long prompt takes a while to tokenise: not on the JavaScript thread, and not on the one that decodes.
    napi::bindgen_prelude::spawn_blocking(move || {
      let prompt = match prompt {
        Prompt::Tokens(tokens) => Ok(tokens),
        Prompt::Text { text, rendered } => model.tokenize(&text, true, rendered),
      };
      match prompt {
        Ok(prompt) => session.submit(Request { prompt, options, cancel }, sink),
        Err(error) => sink.send(Event::Failed(error)),
      }
    });
    Ok(stream)
  }

  /// Ends running generations with CLOSED and frees the context. Idempotent.
  #[napi]
  pub async fn close(&self) -> napi::Result<()> {
    let handle = Arc::clone(&self.handle);
    blocking(move || {
      handle.close();
      Ok(())
    })
    .await
  }
}
