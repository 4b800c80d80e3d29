//! A loaded model.

use std::sync::Arc;

use local_inference_core::error::EngineError;
use local_inference_llama::embedder::Embedder;
use local_inference_llama::model::Model;
use local_inference_llama::session::Session;
use napi::bindgen_prelude::Uint32Array;
use napi_derive::napi;

use crate::chat::{ChatInput, RenderedChat};
use crate::children::{Shared, Worker};
use crate::context::{ContextOptions, NativeContext};
use crate::embedder::{EmbedderOptions, NativeEmbedder};
use crate::error::{blocking, to_js};
use crate::header::ModelHeader;
use crate::numbers::count;

#[napi(object, object_to_js = false)]
pub struct TokenizeOptions {
  pub special: Option<bool>,
  pub bos: Option<bool>,
}

#[napi]
pub struct NativeModel {
  shared: Arc<Shared>,
}

impl NativeModel {
  pub(crate) fn new(model: Model) -> Self {
    Self { shared: Shared::new(model) }
  }

  async fn with<T: Send + 'static>(
    &self,
    work: impl FnOnce(Model) -> Result<T, EngineError> + Send + 'static,
  ) -> napi::Result<T> {
    let model = self.shared.model().map_err(to_js)?;
    blocking(move || work(model)).await
  }
}

#[napi]
impl NativeModel {
  #[napi(getter)]
  pub fn header(&self) -> napi::Result<ModelHeader> {
    Ok(ModelHeader::from(self.shared.model().map_err(to_js)?.header()))
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
    let shared = Arc::clone(&self.shared);
    let open = move |model: Model| {
      let session = Session::open(&model, &options)?;
      let handle = shared.adopt(Worker::Session(session.clone()))?;
      Ok(NativeContext::new(session, handle, model.header().context_length))
    };
    self.with(open).await
  }

  #[napi]
  pub async fn open_embedder(&self, options: EmbedderOptions) -> napi::Result<NativeEmbedder> {
    let options = options.try_into()?;
    let shared = Arc::clone(&self.shared);
    let open = move |model: Model| {
      let embedder = Embedder::open(&model, &options)?;
      let handle = shared.adopt(Worker::Embedder(embedder.clone()))?;
      Ok(NativeEmbedder::new(embedder, handle))
    };
    self.with(open).await
  }

  /// Closes the model's contexts and embedders and frees the weights. Idempotent.
  #[napi]
  pub async fn close(&self) -> napi::Result<()> {
    let shared = Arc::clone(&self.shared);
    blocking(move || {
      shared.close();
      Ok(())
    })
    .await
  }
}
