//! The files of a folder: whole or not there, never larger than agreed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use local_inference_core::durable::{
  EXTENSION, Fingerprint, HEADER_BYTES, Header, Ignored, Save, Saved, StateFile, StateOptions, WORD_BYTES,
  encode_history, superfluous,
};
use local_inference_core::error::{EngineError, ErrorCode, Result};

/// Ending of a file that is being written.
const PARTIAL: &str = "-partial";

/// A folder of states that one context may use.
pub(super) struct Folder {
  options: StateOptions,
  fingerprint: Fingerprint,
  written: AtomicU64,
}

impl Folder {
  pub(super) fn open(options: StateOptions, fingerprint: Fingerprint) -> Result<Self> {
    make(&options.folder).map_err(|error| {
      let folder = options.folder.display();
      EngineError::new(ErrorCode::InvalidInput, format!("the state folder {folder} cannot be made: {error}"))
    })?;
    let folder = Self { options, fingerprint, written: AtomicU64::new(0) };
    folder.tidy();
    Ok(folder)
  }

  pub(super) fn on_battery(&self) -> bool {
    self.options.on_battery
  }

  fn path(&self, conversation: &str) -> PathBuf {
    self.options.folder.join(self.fingerprint.file_name(conversation))
  }

  /// The stored state of a conversation.
  pub(super) fn read(&self, conversation: &str) -> Result<Option<Saved>, Ignored> {
    let path = self.path(conversation);
    let mut file = match File::open(&path) {
      Ok(file) => file,
      Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
      Err(error) => return Err(Ignored::Unreadable(error.to_string())),
    };
    let unreadable = |error: io::Error| match error.kind() {
      ErrorKind::UnexpectedEof => Ignored::Damaged,
      _ => Ignored::Unreadable(error.to_string()),
    };
    let length = file.metadata().map_err(unreadable)?.len();
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header).map_err(unreadable)?;
    let header = Header::parse(&header, length, &self.fingerprint, conversation)?;
    // Both lengths were checked against that of the file.
    let words = take(&mut file, header.words * WORD_BYTES as u64).map_err(unreadable)?;
    let state = take(&mut file, header.state).map_err(unreadable)?;
    let history = header.check(&words, &state)?;
    // Whether it can be noted changes nothing.
    let _ = file.set_modified(SystemTime::now());
    Ok(Some(Saved { history, state: Arc::new(state) }))
  }

  /// Stores a state; a reader sees the old file or the new one.
  pub(super) fn write(&self, save: &Save) -> io::Result<()> {
    let Saved { history, state } = &save.saved;
    let number = self.written.fetch_add(1, Ordering::Relaxed);
    let path = self.path(&save.conversation);
    let partial = path.with_extension(format!("{}-{number}{PARTIAL}", std::process::id()));
    let header = Header::new(self.fingerprint, &save.conversation, history, state);
    let written = (|| {
      let mut file = create(&partial)?;
      file.write_all(&header.encode())?;
      file.write_all(&encode_history(history))?;
      file.write_all(state)?;
      // Without this a crash of the machine could leave a file that was renamed but not written.
      file.sync_data()?;
      fs::rename(&partial, &path)
    })();
    if written.is_err() {
      let _ = fs::remove_file(&partial);
    }
    self.tidy();
    written
  }

  /// Removes what is too old or too much. Another process may do the same: a file that is gone is no error.
  fn tidy(&self) {
    let Ok(entries) = fs::read_dir(&self.options.folder) else { return };
    let files: Vec<_> = entries
      .filter_map(|entry| {
        let path = entry.ok()?.path();
        let metadata = fs::metadata(&path).ok()?;
        let used = metadata.modified().ok()?;
        (is_ours(&path) && metadata.is_file()).then_some((path, StateFile { bytes: metadata.len(), used }))
      })
      .collect();
    let facts: Vec<_> = files.iter().map(|(_, file)| *file).collect();
    for index in superfluous(&facts, SystemTime::now(), self.options.bytes, self.options.time_to_live) {
      let _ = fs::remove_file(&files[index].0);
    }
  }
}

/// Whether a file is one that this module makes: nothing else in the folder is touched.
fn is_ours(path: &Path) -> bool {
  let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
  let Some((digest, ending)) = name.split_once('.') else { return false };
  let digits = digest.len() == 32 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
  digits && (ending == EXTENSION || ending.ends_with(PARTIAL))
}

fn take(file: &mut File, length: u64) -> io::Result<Vec<u8>> {
  let mut bytes = Vec::new();
  let wanted = usize::try_from(length).map_err(|_| ErrorKind::OutOfMemory)?;
  bytes.try_reserve_exact(wanted).map_err(|_| ErrorKind::OutOfMemory)?;
  file.take(length).read_to_end(&mut bytes)?;
  if bytes.len() == wanted { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

/// What was said is nobody else's business.
fn create(path: &Path) -> io::Result<File> {
  let mut options = OpenOptions::new();
  options.write(true).create_new(true);
  #[cfg(unix)]
  std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
  options.open(path)
}

fn make(folder: &Path) -> io::Result<()> {
  let mut builder = fs::DirBuilder::new();
  builder.recursive(true);
  #[cfg(unix)]
  std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
  builder.create(folder)
}
