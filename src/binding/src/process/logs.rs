//! Log records wait in a bounded ring until JavaScript takes them: no callback into JavaScript from foreign threads.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, Once};
use std::time::{SystemTime, UNIX_EPOCH};

use local_inference_core::error::{EngineError, ErrorCode};
use local_inference_core::sync::lock;
use napi_derive::napi;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::error::to_js;
use crate::numbers::milliseconds;

const CAPACITY: usize = 1024;

static RING: Mutex<VecDeque<LogRecord>> = Mutex::new(VecDeque::new());
/// 0 off, 1 error, 2 warn, 3 info, 4 debug.
static THRESHOLD: AtomicU8 = AtomicU8::new(2);

#[napi(object, object_from_js = false)]
pub struct LogRecord {
  #[napi(ts_type = "\"error\" | \"warn\" | \"info\" | \"debug\"")]
  pub level: &'static str,
  pub target: String,
  pub message: String,
  pub timestamp_ms: f64,
}

const fn rank(level: Level) -> (u8, &'static str) {
  match level {
    Level::ERROR => (1, "error"),
    Level::WARN => (2, "warn"),
    Level::INFO => (3, "info"),
    _ => (4, "debug"),
  }
}

struct Ring;

impl<S: Subscriber> Layer<S> for Ring {
  fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
    let (rank, level) = rank(*event.metadata().level());
    if rank > THRESHOLD.load(Ordering::Relaxed) {
      return;
    }
    let mut message = Message(String::new());
    event.record(&mut message);
    let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let record = LogRecord {
      level,
      target: event.metadata().target().to_owned(),
      message: message.0,
      timestamp_ms: milliseconds(timestamp),
    };
    let mut ring = lock(&RING);
    if ring.len() == CAPACITY {
      ring.pop_front();
    }
    ring.push_back(record);
  }
}

struct Message(String);

impl Visit for Message {
  fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
    if field.name() == "message" {
      // Writing to a string cannot fail.
      let _ = write!(self.0, "{value:?}");
    } else {
      let _ = write!(self.0, " {}={value:?}", field.name());
    }
  }
}

/// Starts collecting. A host that has set a subscriber of its own keeps it.
pub(crate) fn install() {
  static ONCE: Once = Once::new();
  ONCE.call_once(|| {
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Ring));
  });
}

/// Removes and returns the records collected since the last call, oldest first; at most the newest 1,024.
#[napi]
pub fn take_logs() -> Vec<LogRecord> {
  lock(&RING).drain(..).collect()
}

/// Which records are collected; default warn.
#[napi(ts_args_type = "level: \"off\" | \"error\" | \"warn\" | \"info\" | \"debug\"")]
pub fn set_log_level(level: String) -> napi::Result<()> {
  let threshold = match level.as_str() {
    "off" => 0,
    "error" => 1,
    "warn" => 2,
    "info" => 3,
    "debug" => 4,
    other => {
      let message = format!("the log level must be off, error, warn, info or debug, got {other}");
      return Err(to_js(EngineError::new(ErrorCode::InvalidInput, message)));
    }
  };
  THRESHOLD.store(threshold, Ordering::Relaxed);
  Ok(())
}
