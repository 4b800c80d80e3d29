//! KV caches of conversations in a folder. Files are read by whoever submits a request and written by a thread of their
//! own; nothing that goes wrong here fails a request.

mod file;

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::UNIX_EPOCH;

use local_inference_core::digest::Digest;
use local_inference_core::durable::{Fingerprint, Ignored, Save, StateOptions, Stored};
use local_inference_core::error::{EngineError, ErrorCode, Result};
use local_inference_core::generate::Request;
use local_inference_core::hardware;
use local_inference_core::sync::lock;

use crate::backend::llama_version;
use crate::context::ContextSettings;
use crate::model::Model;
use file::Folder;

/// Bytes of a model's file that are read to recognise it: its header, and the first weights.
const RECOGNISED: usize = 1 << 20;
/// A shorter beginning is evaluated faster than a file is read.
const LEAST_TOKENS: usize = 16;

/// The stored conversations of one context.
pub(crate) struct StateStore {
  folder: Arc<Folder>,
  /// Conversations whose newest state is in memory.
  present: Mutex<HashSet<Arc<str>>>,
  writer: Mutex<Option<(Sender<Save>, JoinHandle<()>)>>,
}

impl StateStore {
  /// Makes the folder if need be and starts the writing thread.
  ///
  /// # Errors
  /// `INVALID_INPUT` when there can be no such folder.
  pub(crate) fn open(model: &Model, settings: &ContextSettings, options: &StateOptions) -> Result<Self> {
    let fingerprint = fingerprint(model, settings)?;
    let folder = Arc::new(Folder::open(options.clone(), fingerprint)?);
    let (sender, receiver) = mpsc::channel();
    let writing = Arc::clone(&folder);
    let thread = std::thread::Builder::new()
      .name("kv-writer".to_owned())
      .spawn(move || write_all(&writing, &receiver))
      .map_err(|error| {
        EngineError::new(ErrorCode::Internal, format!("no thread could be started: {error}"))
      })?;
    Ok(Self { folder, present: Mutex::default(), writer: Mutex::new(Some((sender, thread))) })
  }

  /// What is stored of the request's conversation, unless memory has it anyway.
  pub(crate) fn find(&self, request: &Request) -> Stored {
    let Some(conversation) = request.options.queue.conversation.as_deref() else { return Stored::Nothing };
    if lock(&self.present).contains(conversation) {
      return Stored::Nothing;
    }
    match self.folder.read(conversation) {
      Ok(None) => Stored::Nothing,
      Ok(Some(saved)) => {
        let shared = saved.history.common_prefix(&request.prompt);
        if shared < LEAST_TOKENS.min(saved.history.len_cells()) {
          ignored(&Ignored::OtherPrompt)
        } else {
          Stored::Found(saved)
        }
      }
      Err(reason) => ignored(&reason),
    }
  }

  /// The scheduler has nothing of these any more.
  pub(crate) fn forgotten(&self, conversations: &[Arc<str>]) {
    let mut present = lock(&self.present);
    for conversation in conversations {
      present.remove(conversation);
    }
  }

  /// Hands snapshots to the writing thread.
  pub(crate) fn store(&self, saves: Vec<Save>) {
    for save in saves {
      lock(&self.present).insert(Arc::clone(&save.conversation));
      if let Some((sender, _)) = &*lock(&self.writer) {
        // A thread that has ended stores nothing more.
        let _ = sender.send(save);
      }
    }
  }

  /// Waits until everything is written. Idempotent.
  pub(crate) fn close(&self) {
    let writer = lock(&self.writer).take();
    if let Some((sender, thread)) = writer {
      drop(sender);
      let _ = thread.join();
    }
  }
}

fn ignored(reason: &Ignored) -> Stored {
  tracing::warn!(target: "local_inference", "{reason}");
  Stored::Ignored(reason.to_string())
}

/// Writes what comes, of each conversation only the newest.
fn write_all(folder: &Folder, saves: &Receiver<Save>) {
  while let Ok(first) = saves.recv() {
    let mut waiting = vec![first];
    waiting.extend(saves.try_iter());
    while let Some(save) = waiting.pop() {
      waiting.retain(|other| other.conversation != save.conversation);
      if !folder.on_battery() && hardware::power_state().on_battery == Some(true) {
        tracing::info!(target: "local_inference", "the machine runs from its battery: the conversation is not stored");
        continue;
      }
      if let Err(error) = folder.write(&save) {
        tracing::warn!(target: "local_inference", "the state of a conversation cannot be stored: {error}");
      }
    }
  }
}

/// What identifies states that a context can take.
fn fingerprint(model: &Model, settings: &ContextSettings) -> Result<Fingerprint> {
  let mut files = Digest::default();
  for path in &model.header().files {
    describe(path, &mut files).map_err(|error| {
      EngineError::new(ErrorCode::ModelNotFound, format!("{} cannot be read again: {error}", path.display()))
    })?;
  }
  let rotation = std::env::var("LLAMA_ATTN_ROT_DISABLE").unwrap_or_default();
  let numbers = format!(
    "{} {} {:?} {:?} rotation {rotation}",
    settings.kv_k.as_str(),
    settings.kv_v.as_str(),
    settings.flash_attention,
    settings.windows
  );
  let build = format!("{} {}", llama_version(), env!("CARGO_PKG_VERSION"));
  Ok(Fingerprint {
    model: files.finish(),
    settings: Digest::of(numbers.as_bytes()),
    build: Digest::of(build.as_bytes()),
  })
}

/// Size, time of the last change, and the beginning: reading gigabytes would take longer than it saves.
fn describe(path: &Path, digest: &mut Digest) -> std::io::Result<()> {
  use std::io::Read as _;
  let file = std::fs::File::open(path)?;
  let metadata = file.metadata()?;
  let changed =
    metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
  let mut beginning = Vec::with_capacity(RECOGNISED);
  file.take(RECOGNISED as u64).read_to_end(&mut beginning)?;
  digest.piece(&metadata.len().to_le_bytes());
  digest.piece(&changed.as_nanos().to_le_bytes());
  digest.piece(&beginning);
  Ok(())
}
