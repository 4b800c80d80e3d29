//! A loaded model.

use std::sync::Arc;

use local_inference_core::error::EngineError;
use local_inference_core::options::GenerateOptions;
use local_inference_llama::embedder::Embedder;
use local_inference_llama::model::Model;
use local_inference_llama::running::RunningContext;
use napi::Env;
use napi::bindgen_prelude::{PromiseRaw, ToNapiValue, Uint32Array};
use napi_derive::napi;

use crate::chat::{ChatInput, RenderedChat};
use crate::children::{Shared, Worker};
use crate::constraint::ConstraintInput;
use crate::context::{ContextOptions, NativeContext};
use crate::embedder::{EmbedderOptions, NativeEmbedder};
use crate::error::to_js;
use crate::header::ModelHeader;
use crate::numbers::count;
use crate::process::exit;
use crate::promise::blocking_promise;

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

  /// A promise for work with the model; it rejects when the model is closed.
  fn with<'env, T: ToNapiValue + Send + 'static>(
    &self,
    env: &'env Env,
    work: impl FnOnce(Model) -> Result<T, EngineError> + Send + 'static,
  ) -> napi::Result<PromiseRaw<'env, T>> {
    let model = self.shared.model();
    blocking_promise(env, move || work(model?))
  }
}

#[napi]
impl NativeModel {
  #[napi(getter)]
  pub fn header(&self) -> napi::Result<ModelHeader> {
    Ok(ModelHeader::from(self.shared.model().map_err(to_js)?.header()))
  }

  #[napi]
  pub fn tokenize<'env>(
    &self,
    env: &'env Env,
    text: String,
    options: TokenizeOptions,
  ) -> napi::Result<PromiseRaw<'env, Uint32Array>> {
    self.with(env, move |model| {
      let tokens = options.tokenize(&model, &text)?;
      Ok(Uint32Array::new(tokens.into_iter().map(i32::cast_unsigned).collect()))
    })
  }

  #[napi]
  pub fn detokenize<'env>(
    &self,
    env: &'env Env,
    tokens: Uint32Array,
    options: TokenizeOptions,
  ) -> napi::Result<PromiseRaw<'env, String>> {
    let tokens: Vec<i32> = tokens.iter().map(|token| token.cast_signed()).collect();
    self.with(env, move |model| model.detokenize(&tokens, options.special.unwrap_or(false)))
  }

  #[napi]
  pub fn count_tokens<'env>(
    &self,
    env: &'env Env,
    text: String,
    options: TokenizeOptions,
  ) -> napi::Result<PromiseRaw<'env, f64>> {
    self.with(env, move |model| Ok(count(options.tokenize(&model, &text)?.len())))
  }

  /// Renders a conversation with the model's chat template.
  #[napi]
  pub fn render_chat<'env>(
    &self,
    env: &'env Env,
    input: ChatInput,
  ) -> napi::Result<PromiseRaw<'env, RenderedChat>> {
    self.with(env, move |model| {
      let template = model.chat_template(input.template.as_deref())?;
      let rendered = template.render(&input.into())?;
      exit::arm();
      Ok(RenderedChat::new(rendered))
    })
  }

  /// Compiles a constraint, so that the first request finds it ready. Resolves to what of a schema it does not enforce.
  #[napi]
  pub fn compile_constraint<'env>(
    &self,
    env: &'env Env,
    constraint: ConstraintInput,
  ) -> napi::Result<PromiseRaw<'env, Vec<String>>> {
    self.with(env, move |model| {
      let constraint = Some(constraint.try_into()?);
      model.prepare(&GenerateOptions { constraint, ..GenerateOptions::default() })
    })
  }

  #[napi]
  pub fn open_context<'env>(
    &self,
    env: &'env Env,
    options: ContextOptions,
  ) -> napi::Result<PromiseRaw<'env, NativeContext>> {
    let shared = Arc::clone(&self.shared);
    self.with(env, move |model| {
      let context = RunningContext::open(&model, &options.try_into()?)?;
      let handle = shared.adopt(Worker::Context(context.clone()))?;
      Ok(NativeContext::new(context, handle, model.header().context_length))
    })
  }

  #[napi]
  pub fn open_embedder<'env>(
    &self,
    env: &'env Env,
    options: EmbedderOptions,
  ) -> napi::Result<PromiseRaw<'env, NativeEmbedder>> {
    let shared = Arc::clone(&self.shared);
    self.with(env, move |model| {
      let embedder = Embedder::open(&model, &options.try_into()?)?;
      let handle = shared.adopt(Worker::Embedder(embedder.clone()))?;
      Ok(NativeEmbedder::new(embedder, handle))
    })
  }

  /// Closes the model's contexts and embedders and frees the weights. Idempotent.
  #[napi(ts_return_type = "Promise<void>")]
  pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
    let shared = Arc::clone(&self.shared);
    blocking_promise(env, move || {
      shared.close();
      Ok(())
    })
  }
}

impl TokenizeOptions {
  fn tokenize(&self, model: &Model, text: &str) -> Result<Vec<i32>, EngineError> {
    model.tokenize(text, self.bos.unwrap_or(false), self.special.unwrap_or(false))
  }
}
