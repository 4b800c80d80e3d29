//! What is asked for.

use crate::cancel::CancelToken;
use crate::history::History;
use crate::options::GenerateOptions;

/// What to generate.
#[derive(Debug)]
pub struct Request {
  /// The prompt: fewer cells than the context holds, the last one a token.
  pub prompt: History,
  /// Limits, sampling and text rules; validated by the caller.
  pub options: GenerateOptions,
  /// Stops the request at any time.
  pub cancel: CancelToken,
}
