//! How a context is opened: its size, its sequences, its drafter.

use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::Draft as _;
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::fit::{self, FitInput, FitPlan, Windows};
use local_inference_core::gguf::ModelKind;
use local_inference_core::hardware;
use local_inference_core::options::{ContextOptions, DEFAULT_PARALLEL, FlashAttention, LoadOptions};
use local_inference_core::schedule::{Scheduler, Settings};
use local_inference_core::speculate::{Kind, Limits, MAX_WINDOW, Unusable};

use super::work::run;
use super::{RunningContext, RunningInfo};
use crate::context::{Context, ContextSettings};
use crate::draft::DraftModel;
use crate::model::Model;
use crate::state::StateStore;

/// Snapshots take at most this part of the memory that is available when the context is opened.
const CACHE_SHARE: u64 = 16;
/// More snapshots than these bytes hold are rarely used.
const MOST_CACHE: u64 = 1 << 30;

impl RunningContext {
  /// Opens a context for generation; its size, KV types and sequences follow from the options, the model and the free
  /// memory.
  ///
  /// # Errors
  /// `UNSUPPORTED` for an embedding model, `OUT_OF_MEMORY`, `INVALID_INPUT`.
  pub fn open(model: &Model, options: &ContextOptions) -> Result<Self> {
    options.validate()?;
    if model.header().kind != ModelKind::Chat {
      return Err(EngineError::new(
        ErrorCode::Unsupported,
        format!(
          "{} is not a model that generates text (architecture {}): use it for embeddings, or choose a chat model",
          file_name(&model.header().path),
          model.header().architecture
        ),
      ));
    }
    let (drafter, mut unusable_drafter) = load_drafter(model, options);
    let window = window(options, drafter.as_ref());
    let draft_window = window.map_or(0, |window| u32::try_from(window.max).unwrap_or(0));
    let facts = hardware::facts();
    let Plan { fit: mut plan, parallel } = plan(model, options, &facts, draft_window, drafter.as_ref())?;
    if options.trim_windows {
      plan.windows = Windows::Trimmed;
    }
    let settings = ContextSettings {
      size: plan.context,
      sequences: parallel,
      batch: options.batch_size,
      micro_batch: options.effective_micro_batch(),
      threads: options.threads.unwrap_or_else(|| hardware::default_threads(&facts)),
      kv_k: plan.kv_k,
      kv_v: plan.kv_v,
      flash_attention: options.flash_attention,
      windows: plan.windows,
      draft_window,
      pooling: None,
    };
    let stop = CancelToken::new();
    let mut context = Context::new(model, settings, stop.clone())?;
    if let Some(drafter) = drafter {
      unusable_drafter = context.attach(drafter).err();
    }
    if let Some(unusable) = &unusable_drafter {
      tracing::warn!("decoding without a drafter: {unusable}");
    }
    let ngram = options.speculation.ngram.then_some(Kind::Ngram);
    let drafts_from = context.drafter().or(ngram).filter(|_| window.is_some());
    let prefix_cache = options.prefix_cache.unwrap_or((facts.memory_available / CACHE_SHARE).min(MOST_CACHE));
    let state = options.state.as_ref().map(|state| StateStore::open(model, context.settings(), state));
    let state = state.transpose()?.map(Arc::new);
    let info = RunningInfo {
      context_size: context.size(),
      threads: context.settings().threads,
      batch_size: context.settings().batch,
      micro_batch_size: context.settings().micro_batch,
      parallel,
      prefix_cache,
      plan,
      drafts_from,
      unusable_drafter,
    };
    let scheduler = Scheduler::new(
      context,
      &Settings {
        parallel,
        queue_limit: options.queue_limit as usize,
        queue_timeout: options.queue_timeout,
        cache_bytes: usize::try_from(prefix_cache).unwrap_or(usize::MAX),
        durable: state.is_some(),
        speculation: drafts_from.and(window),
        ngram: options.speculation.ngram,
        ..Settings::default()
      },
    );
    let (commands, receiver) = mpsc::channel();
    let metrics = scheduler.published();
    let thread_state = state.clone();
    let thread = std::thread::Builder::new()
      .name("inference".to_owned())
      .spawn(move || run(scheduler, &receiver, thread_state.as_ref()))
      .map_err(|error| {
        EngineError::new(ErrorCode::Internal, format!("no thread could be started: {error}"))
      })?;
    let thread = Arc::new(Mutex::new(Some(thread)));
    Ok(Self { commands, thread, info: Arc::new(info), metrics, state, stop })
  }
}

/// The window that was asked for, as far as the drafter reaches and shorter than a micro-batch, so that a sliding-window
/// cache can always be taken back by a draft. None where nothing drafts.
fn window(options: &ContextOptions, drafter: Option<&DraftModel>) -> Option<Limits> {
  if drafter.is_none() && !options.speculation.ngram {
    return None;
  }
  let longest = drafter.map_or(MAX_WINDOW, DraftModel::longest);
  let rewindable = options.effective_micro_batch().saturating_sub(1) as usize;
  let window = options.speculation.window.within(longest.min(rewindable));
  (window.max > 0).then_some(window)
}

/// A drafter that cannot be used is no error: the context decodes without.
fn load_drafter(model: &Model, options: &ContextOptions) -> (Option<DraftModel>, Option<Unusable>) {
  let load = LoadOptions { memory_headroom: options.memory_headroom, ..LoadOptions::default() };
  let drafter = match &options.speculation.drafter {
    Some(path) => DraftModel::load(model, path, &load),
    None if options.speculation.heads => DraftModel::own(model),
    None => return (None, None),
  };
  match drafter {
    Ok(drafter) => (Some(drafter), None),
    Err(unusable) => (None, Some(unusable)),
  }
}

fn file_name(path: &Path) -> String {
  path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

struct Plan {
  fit: FitPlan,
  parallel: u32,
}

/// Without a wish there are four sequences, or as many as cost nothing of the context: with attention over the whole
/// sequence they share the cells, but windows and recurrent state are stored for each.
fn plan(
  model: &Model,
  options: &ContextOptions,
  facts: &hardware::HardwareFacts,
  draft_window: u32,
  drafter: Option<&DraftModel>,
) -> Result<Plan> {
  let shape = drafter.and_then(DraftModel::shape);
  let plan_for = |parallel| {
    let input = fit_input(model, options, facts, parallel, draft_window)?;
    Ok(Plan { fit: fit::plan(&FitInput { drafter: shape.clone(), ..input })?, parallel })
  };
  if let Some(parallel) = options.parallel {
    return plan_for(parallel);
  }
  let one = plan_for(1)?;
  for parallel in [DEFAULT_PARALLEL, DEFAULT_PARALLEL / 2] {
    let more = plan_for(parallel).ok().filter(|more| {
      let kind = |plan: &Plan| (plan.fit.context, plan.fit.kv_k, plan.fit.kv_v, plan.fit.windows);
      kind(more) == kind(&one) && parallel <= one.fit.context
    });
    if let Some(more) = more {
      return Ok(more);
    }
  }
  Ok(one)
}

fn fit_input(
  model: &Model,
  options: &ContextOptions,
  facts: &hardware::HardwareFacts,
  sequences: u32,
  draft_window: u32,
) -> Result<FitInput> {
  let available = facts.memory_available.saturating_add(crate::backend::device_memory());
  let headroom = options.memory_headroom.unwrap_or_else(|| fit::default_headroom(facts.memory_total));
  Ok(FitInput {
    requested_context: options.requested_size(),
    kv_k: options.kv_type_k,
    kv_v: options.kv_type_v,
    sequences,
    micro_batch: options.effective_micro_batch(),
    outputs: sequences * (1 + draft_window),
    flash_attention: options.flash_attention != FlashAttention::Off,
    weights_loaded: true,
    ..FitInput::new(model.header(), available, headroom)?
  })
}
