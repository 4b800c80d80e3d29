//! Networks that no head is made of.

use crate::error::{AudioError, AudioErrorKind};

pub(super) fn unsupported(message: String) -> AudioError {
  AudioError::new(AudioErrorKind::ModelUnsupported, message)
}
