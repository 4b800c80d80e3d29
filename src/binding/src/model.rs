//! A loaded model.

use std::sync::{Arc, Mutex, PoisonError};

use local_inference_core::error::EngineError;
use local_inference_llama::embedder::Embedder;
use local_inference_llama::model::Model;
use local_inference_llama::session::Session;
use napi::bindgen_prelude::Uint32Array;
use napi_derive::napi;

use crate::chat::{ChatInput, RenderedChat};
use crate::context::{ContextOptions, NativeContext};
use crate::embedder::{EmbedderOptions, NativeEmbedder};
use crate::error::{blocking, closed};
use crate::header::ModelHeader;
use crate::numbers::count;

#[napi(object, object_to_js = false)]
pub struct TokenizeOptions {
  pub special: Option<bool>,
  pub bos: Option<bool>,
}

/// What must be closed before the model is freed.
#[derive(Clone)]
pub(crate) enum Child {
  Session(Session),
  Embedder(Embedder),
}

#[derive(Default)]
pub(crate) struct Children(Mutex<Vec<(u64, Child)>>);

impl Children {
  pub(crate) fn add(&self, child: Child) -> u64 {
    let mut children = self.0.lock().unwrap_or_else(PoisonError::into_inner);
    let id = children.last().map_or(0, |(id, _)| id + 1);
    children.push((id, child));
    id
  }

  pub(crate) fn close(&self, id: u64) {
    let mut children = self.0.lock().unwrap_or_else(PoisonError::into_inner);
    let found = children.iter().position(|(other, _)| *other == id).map(|index| children.remove(index).1);
    drop(children);
    if let Some(child) = found {
      child.close();
    }
  }

  fn close_all(&self) {
    let children = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
    for (_, child) in children {
      child.close();
    }
  }
}

impl Child {
  fn close(&self) {
    match self {
      Self::Session(session) => session.close(),
      Self::Embedder(embedder) => embedder.close(),
    }
  }
}

#[napi]
pub struct NativeModel {
  model: Mutex<Option<Model>>,
  children: Arc<Children>,
}

impl NativeModel {
  pub(crate) fn new(model: Model) -> Self {
    Self { model: Mutex::new(Some(model)), children: Arc::default() }
  }

  fn get(&self) -> napi::Result<Model> {
    self.model.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(|| closed("model"))
  }

  async fn with<T: Send + 'static>(
    &self,
    work: impl FnOnce(Model) -> Result<T, EngineError> + Send + 'static,
  ) -> napi::Result<T> {
    let model = self.get()?;
    blocking(move || work(model)).await
  }
}

#[napi]
impl NativeModel {
  #[napi(getter)]
  pub fn header(&self) -> napi::Result<ModelHeader> {
    Ok(ModelHeader::from(self.get()?.header()))
  }

  #[napi]
  pub async fn tokenize(&self, text: String, options: TokenizeOptions) -> napi::Result<Uint32Array> {
    let (special, bos) = (options.special.unwrap_or(false), options.bos.unwrap_or(false));
    let tokens = self.with(move |model| model.tokenize(&text, bos, special)).await?;
    Ok(Uint32Array::new(tokens.into_iter().map(i32::cast_unsigned).collect()))
  }

  #[napi]
  pub async fn detokenize(&self, tokens: Uint32Array, options: TokenizeOptions) -> napi::Result<String> {
    let tokens: Vec<i32> = tokens.iter().map(|token| token.cast_signed()).collect();
    let special = options.special.unwrap_or(false);
    self.with(move |model| model.detokenize(&tokens, special)).await
  }

  #[napi]
  pub async fn count_tokens(&self, text: String, options: TokenizeOptions) -> napi::Result<f64> {
    let (special, bos) = (options.special.unwrap_or(false), options.bos.unwrap_or(false));
    let tokens = self.with(move |model| Ok(model.tokenize(&text, bos, special)?.len())).await?;
    Ok(count(tokens))
  }

  /// Renders a conversation with the model's chat template.
  #[napi]
  pub async fn render_chat(&self, input: ChatInput) -> napi::Result<RenderedChat> {
    let rendered = self
      .with(move |model| {
        let template = model.chat_template(input.template.as_deref())?;
        template.render(&input.into())
      })
      .await?;
    Ok(rendered.into())
  }

  #[napi]
  pub async fn open_context(&self, options: ContextOptions) -> napi::Result<NativeContext> {
    let options = options.try_into()?;
    let model = self.get()?;
    let session = self.with(move |model| Session::open(&model, &options)).await?;
    let id = self.children.add(Child::Session(session.clone()));
    Ok(NativeContext::new(model, session, Arc::clone(&self.children), id))
  }

  #[napi]
  pub async fn open_embedder(&self, options: EmbedderOptions) -> napi::Result<NativeEmbedder> {
    let options = options.try_into()?;
    let model = self.get()?;
    let embedder = self.with(move |model| Embedder::open(&model, &options)).await?;
    let id = self.children.add(Child::Embedder(embedder.clone()));
    Ok(NativeEmbedder::new(model, embedder, Arc::clone(&self.children), id))
  }

  /// Closes the model's contexts and embedders and frees the weights. Idempotent.
  #[napi]
  pub async fn close(&self) -> napi::Result<()> {
    let model = self.model.lock().unwrap_or_else(PoisonError::into_inner).take();
    let children = Arc::clone(&self.children);
    blocking(move || {
      children.close_all();
      drop(model);
      return_free_memory();
      Ok(())
    })
    .await
  }
}

impl Drop for NativeModel {
  /// The safety net of a model that nobody closed: its threads must not run on for ever.
  fn drop(&mut self) {
    let children = Arc::clone(&self.children);
    std::thread::spawn(move || children.close_all());
  }
}

/// glibc keeps freed buffers; a closed model gives its memory back to the machine.
pub(crate) fn return_free_memory() {
  #[cfg(all(target_os = "linux", target_env = "gnu"))]
  // SAFETY: no preconditions.
  unsafe {
    libc::malloc_trim(0);
  }
}
