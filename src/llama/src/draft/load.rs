//! Loading a drafter, and whether it fits the model that it is to draft for.

use std::path::Path;

use local_inference_core::cancel::CancelToken;
use local_inference_core::error::{EngineError, ErrorCode};
use local_inference_core::fit::DrafterShape;
use local_inference_core::gguf::GgufHeader;
use local_inference_core::options::LoadOptions;
use local_inference_core::speculate::{Heads, Kind, MAX_WINDOW, Problem, Unusable, own_heads, pair};

use super::ffi::li_vocabulary_difference;
use crate::ffi::LiError;
use crate::model::Model;

/// llama.cpp lets the first tokens of a draft model differ: they are markers of no text.
const MARKERS: i32 = 5;

/// A loaded drafter that fits its target.
pub(crate) struct DraftModel {
  pub(super) model: Model,
  pub(super) kind: Kind,
  /// The target's own heads: then `model` is the target.
  pub(super) heads: Option<Heads>,
}

impl DraftModel {
  /// What its context will take beside one of the target.
  pub(crate) fn shape(&self) -> Option<DrafterShape> {
    let shape = DrafterShape::from_header(self.model.header(), self.kind).ok()?;
    match &self.heads {
      Some(heads) => Some(DrafterShape { geometry: Some(heads.geometry.clone()), ..shape }),
      None => Some(shape),
    }
  }

  /// Tokens of the longest draft.
  pub(crate) fn longest(&self) -> usize {
    self.heads.as_ref().map_or(MAX_WINDOW, Heads::longest_draft)
  }

  /// The heads that `target` brings along.
  pub(crate) fn own(target: &Model) -> Result<Self, Unusable> {
    let heads = own_heads(target.header())?;
    if !target.has_heads() {
      let reason = "the model was loaded without its multi-token-prediction heads: load it with `heads`";
      return Err(Unusable::new(Problem::Heads, reason));
    }
    Ok(Self { model: target.clone(), kind: Kind::Heads, heads: Some(heads) })
  }

  /// Loads the drafter at `path` after checking that it can serve `target`.
  pub(crate) fn load(target: &Model, path: &Path, options: &LoadOptions) -> Result<Self, Unusable> {
    let header = GgufHeader::read(path).map_err(|error| unusable(&error))?;
    let kind = pair(target.header(), &header)?;
    let model = Model::load(path, options, &|_| {}, &CancelToken::new()).map_err(|error| unusable(&error))?;
    compare_vocabularies(target, &model, kind)?;
    Ok(Self { model, kind, heads: None })
  }
}

fn unusable(error: &EngineError) -> Unusable {
  let problem = match error.code() {
    ErrorCode::ModelNotFound => Problem::NotFound,
    ErrorCode::OutOfMemory => Problem::OutOfMemory,
    ErrorCode::ModelUnsupported => Problem::Unsupported,
    _ => Problem::Invalid,
  };
  Unusable::new(problem, error.to_string())
}

fn compare_vocabularies(target: &Model, drafter: &Model, kind: Kind) -> Result<(), Unusable> {
  let first = if kind == Kind::Assistant { 0 } else { MARKERS };
  let mut text = [0; 512];
  let mut error = LiError::new();
  // SAFETY: both models are alive; the buffer is passed with its size.
  unsafe {
    li_vocabulary_difference(
      target.pointer().as_ptr(),
      drafter.pointer().as_ptr(),
      first,
      text.as_mut_ptr(),
      text.len(),
      &raw mut error,
    );
  }
  error.check("the vocabularies cannot be compared").map_err(|error| unusable(&error))?;
  // SAFETY: the shim writes a NUL-terminated string.
  let difference = unsafe { std::ffi::CStr::from_ptr(text.as_ptr()) }.to_string_lossy();
  if difference.is_empty() {
    Ok(())
  } else {
    Err(Unusable::new(Problem::Vocabulary, format!("the drafter has another vocabulary: {difference}")))
  }
}
