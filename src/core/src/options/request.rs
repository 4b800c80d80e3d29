//! How a request is queued and what becomes of its context.

use std::str::FromStr;
use std::time::Duration;

use super::check;
use crate::error::{EngineError, Result};

/// Longest name of a conversation, in bytes.
pub const MAX_CONVERSATION_BYTES: usize = 1_024;
/// Longest wait that can be asked for: a day.
pub const MAX_QUEUE_TIMEOUT: Duration = Duration::from_hours(24);

/// Who waits for a request, most urgent first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
  /// A person looks at the screen.
  Interactive,
  /// A step of an agent that something waits for.
  #[default]
  Normal,
  /// Nobody waits. Gives its place to a request of another lane and goes on later.
  Background,
}

impl Lane {
  /// Every lane, the most urgent first.
  pub const ALL: [Self; 3] = [Self::Interactive, Self::Normal, Self::Background];

  /// `interactive`, `normal` or `background`.
  pub const fn as_str(self) -> &'static str {
    match self {
      Self::Interactive => "interactive",
      Self::Normal => "normal",
      Self::Background => "background",
    }
  }

  /// The lane `steps` above.
  pub(crate) fn raised(self, steps: usize) -> Self {
    Self::ALL[(self as usize).saturating_sub(steps)]
  }
}

impl FromStr for Lane {
  type Err = EngineError;

  fn from_str(text: &str) -> Result<Self> {
    Self::ALL.into_iter().find(|lane| lane.as_str() == text).ok_or_else(|| {
      let shown: String = text.chars().take(40).collect();
      check::invalid(format!("lane must be \"interactive\", \"normal\" or \"background\", got {shown:?}"))
    })
  }
}

/// What happens to a generation whose prompt and answer fill the whole context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ContextFull {
  /// It ends with finish reason `context`.
  #[default]
  Stop,
  /// It fails with `CONTEXT_OVERFLOW`, after the text so far.
  Error,
  /// Half of the tokens after the first `keep` are forgotten, the oldest first, and it goes on.
  ///
  /// Only where the model's memory can move positions (`UNSUPPORTED` otherwise: sliding-window attention, recurrent
  /// state).
  Shift {
    /// Tokens at the beginning that stay, such as those of the system prompt.
    keep: u32,
  },
}

/// Place in the queue and use of the KV cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueOptions {
  /// Who waits for it. Default [`Lane::Normal`].
  pub lane: Lane,
  /// Longest wait for a start, up to a day; then the request fails with `QUEUE_TIMEOUT`. Default `None`: the context's.
  pub timeout: Option<Duration>,
  /// Name under which the KV cache of prompt and answer is stored for a later process, 1 to 1,024 bytes. Default `None`:
  /// it is not.
  pub conversation: Option<String>,
  /// What to do when the context is full. Default [`ContextFull::Stop`].
  pub context_full: ContextFull,
  /// Only evaluates the prompt and keeps it, pinned, for requests that begin with it; nothing is generated. Default
  /// false.
  pub prewarm: bool,
}

impl QueueOptions {
  pub(super) fn validate(&self) -> Result<()> {
    if let Some(name) = &self.conversation {
      check::strings("conversation", std::slice::from_ref(name), 1, 1..=MAX_CONVERSATION_BYTES)?;
    }
    match self.timeout {
      Some(timeout) if timeout > MAX_QUEUE_TIMEOUT => {
        let (most, got) = (MAX_QUEUE_TIMEOUT.as_millis(), timeout.as_millis());
        Err(check::invalid(format!("queueTimeoutMs must be between 0 and {most}, got {got}")))
      }
      _ => Ok(()),
    }
  }
}
