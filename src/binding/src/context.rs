//! A context for generation.

use std::path::PathBuf;
use std::sync::Arc;

use local_inference_core::cancel::CancelToken;
use local_inference_core::durable::StateOptions;
use local_inference_core::error::{EngineError, Result};
use local_inference_core::generate::{Event, Request, Sink as _};
use local_inference_core::options;
use local_inference_core::speculate::{Kind, Limits};
use local_inference_llama::running::RunningContext;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::children::Handle;
use crate::error::to_js;
use crate::generate::{GenerateInput, Prompt};
use crate::metrics::ContextMetrics;
use crate::numbers::{bytes, duration, number, whole};
use crate::promise::blocking_promise;
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
  pub parallel: Option<f64>,
  pub trim_windows: Option<bool>,
  pub prefix_cache_bytes: Option<f64>,
  pub queue_limit: Option<f64>,
  pub queue_timeout_ms: Option<f64>,
  pub state: Option<StateFolder>,
  pub drafter: Option<String>,
  pub heads: Option<bool>,
  pub draft_min: Option<f64>,
  pub draft_max: Option<f64>,
  pub ngram: Option<bool>,
}

/// Speculative decoding of a context.
#[napi(object, object_from_js = false)]
pub struct SpeculativeInfo {
  #[napi(ts_type = "\"assistant\" | \"heads\" | \"draft-model\" | \"ngram\"")]
  pub kind: Option<&'static str>,
  #[napi(
    ts_type = "\"not-found\" | \"invalid\" | \"same-file\" | \"vocabulary\" | \"width\" | \"layers\" | \"heads\" | \"unsupported\" | \"out-of-memory\" | \"failed\""
  )]
  pub problem: Option<&'static str>,
  pub message: Option<String>,
}

/// Where KV caches of conversations are stored.
#[napi(object, object_to_js = false)]
pub struct StateFolder {
  pub folder: String,
  pub bytes: Option<f64>,
  pub time_to_live_ms: Option<f64>,
  pub on_battery: Option<bool>,
}

#[napi(object, object_from_js = false)]
pub struct ContextInfo {
  pub context_size: u32,
  pub kv_type_k: &'static str,
  pub kv_type_v: &'static str,
  pub kv_bytes: f64,
  /// Estimated bytes of the drafter's KV cache and compute buffers; 0 without one.
  pub drafter_bytes: f64,
  pub threads: u32,
  pub batch_size: u32,
  pub micro_batch_size: u32,
  pub training_context: u32,
  pub parallel: Option<u32>,
  pub prefix_cache_bytes: Option<f64>,
  pub reason: String,
  pub speculative: SpeculativeInfo,
}

impl TryFrom<ContextOptions> for options::ContextOptions {
  type Error = EngineError;

  fn try_from(input: ContextOptions) -> Result<Self> {
    let defaults = Self::default();
    let micro_batch_size = whole("microBatchSize", input.micro_batch_size)?;
    let flash_attention = input.flash_attention.map(|text| text.parse()).transpose()?;
    Ok(Self {
      context_size: whole("contextSize", input.context_size)?,
      kv_type_k: input.kv_type_k.map(|text| text.parse()).transpose()?,
      kv_type_v: input.kv_type_v.map(|text| text.parse()).transpose()?,
      batch_size: whole("batchSize", input.batch_size)?.unwrap_or(defaults.batch_size),
      micro_batch_size: micro_batch_size.unwrap_or(defaults.micro_batch_size),
      threads: whole("threads", input.threads)?,
      flash_attention: flash_attention.unwrap_or_default(),
      parallel: whole("parallel", input.parallel)?,
      trim_windows: input.trim_windows.unwrap_or(defaults.trim_windows),
      prefix_cache: bytes("prefixCacheBytes", input.prefix_cache_bytes)?,
      queue_limit: whole("queueLimit", input.queue_limit)?.unwrap_or(defaults.queue_limit),
      queue_timeout: duration("queueTimeoutMs", input.queue_timeout_ms)?,
      state: input.state.map(StateOptions::try_from).transpose()?,
      memory_headroom: bytes("memoryHeadroomBytes", input.memory_headroom_bytes)?,
      speculation: options::SpeculationOptions {
        drafter: input.drafter.map(PathBuf::from),
        heads: input.heads.unwrap_or(defaults.speculation.heads),
        window: Limits {
          min: whole("draftMin", input.draft_min)?
            .map_or(defaults.speculation.window.min, |min| min as usize),
          max: whole("draftMax", input.draft_max)?
            .map_or(defaults.speculation.window.max, |max| max as usize),
          ..defaults.speculation.window
        },
        ngram: input.ngram.unwrap_or(defaults.speculation.ngram),
      },
    })
  }
}

impl TryFrom<StateFolder> for StateOptions {
  type Error = EngineError;

  fn try_from(input: StateFolder) -> Result<Self> {
    let defaults = Self::new(input.folder.into());
    Ok(Self {
      bytes: bytes("stateBytes", input.bytes)?.unwrap_or(defaults.bytes),
      time_to_live: duration("timeToLiveMs", input.time_to_live_ms)?.unwrap_or(defaults.time_to_live),
      on_battery: input.on_battery.unwrap_or(defaults.on_battery),
      ..defaults
    })
  }
}

#[napi]
pub struct NativeContext {
  context: RunningContext,
  handle: Arc<Handle>,
  training_context: u32,
}

impl NativeContext {
  pub(crate) fn new(context: RunningContext, handle: Handle, training_context: u32) -> Self {
    Self { context, handle: Arc::new(handle), training_context }
  }
}

#[napi]
impl NativeContext {
  #[napi(getter)]
  pub fn info(&self) -> ContextInfo {
    let info = self.context.info();
    ContextInfo {
      context_size: info.context_size,
      kv_type_k: info.plan.kv_k.as_str(),
      kv_type_v: info.plan.kv_v.as_str(),
      kv_bytes: number(info.plan.kv_bytes),
      drafter_bytes: number(info.plan.drafter_bytes),
      threads: info.threads,
      batch_size: info.batch_size,
      micro_batch_size: info.micro_batch_size,
      training_context: self.training_context,
      parallel: Some(info.parallel),
      prefix_cache_bytes: Some(number(info.prefix_cache)),
      reason: info.plan.reason.clone(),
      speculative: SpeculativeInfo {
        kind: info.drafts_from.map(Kind::as_str),
        problem: info.unusable_drafter.as_ref().map(|it| it.problem.as_str()),
        message: info.unusable_drafter.as_ref().map(|it| it.message.clone()),
      },
    }
  }

  /// What runs, waits and is cached, and what was done since the context was opened.
  #[napi]
  pub fn metrics(&self) -> ContextMetrics {
    self.context.metrics().into()
  }

  /// Queues a generation. Bad options throw here; everything later arrives through the stream.
  #[napi]
  pub fn generate(&self, input: GenerateInput<'_>) -> napi::Result<NativeStream> {
    let model = self.handle.shared().model().map_err(to_js)?;
    let (prompt, options) = input.split(model.vocabulary_size()).map_err(to_js)?;
    options.validate(model.vocabulary_size()).map_err(to_js)?;
    let cancel = CancelToken::new();
    let (mut sink, stream) =
      channel(Arc::clone(&self.handle), self.context.clone(), cancel.clone()).map_err(to_js)?;
    let context = self.context.clone();
    // A long prompt takes a while to tokenise: not on the JavaScript thread, and not on the one that decodes.
    napi::bindgen_prelude::spawn_blocking(move || {
      // Neither here nor there: a grammar is compiled once, and the request finds it.
      if let Err(error) = model.prepare(&options) {
        return sink.send(Event::Failed(error));
      }
      let prompt = match prompt {
        Prompt::Tokens(tokens) => Ok(tokens),
        Prompt::Text { text, rendered } => model.tokenize(&text, true, rendered),
      };
      match prompt {
        Ok(prompt) => context.submit(Request { prompt: prompt.into(), options, cancel }, sink),
        Err(error) => sink.send(Event::Failed(error)),
      }
    });
    Ok(stream)
  }

  /// Ends running generations with CLOSED and frees the context. Idempotent.
  #[napi(ts_return_type = "Promise<void>")]
  pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
    let handle = Arc::clone(&self.handle);
    blocking_promise(env, move || {
      handle.close();
      Ok(())
    })
  }
}
