//! Answers read in the format of their template: text, reasoning and tool calls.

use std::ffi::{CStr, c_char};
use std::ptr::NonNull;

use local_inference_core::error::{EngineError, ErrorCode, Result};
use serde::Deserialize;

use crate::ffi::{LiError, c_string, li_string_free};

#[repr(C)]
struct LiChatParser {
  opaque: [u8; 0],
}

unsafe extern "C" {
  fn li_chat_parser_new(
    format: i32,
    generation_prompt: *const c_char,
    parser: *const c_char,
    error: *mut LiError,
  ) -> *mut LiChatParser;
  fn li_chat_parser_free(parser: *mut LiChatParser);
  fn li_chat_parser_parse(
    parser: *const LiChatParser,
    text: *const c_char,
    partial: bool,
    error: *mut LiError,
  ) -> *mut c_char;
}

/// What a parser is made from; part of a rendered chat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AnswerFormat {
  /// llama.cpp's number of the format.
  pub(super) number: i32,
  /// The end of the prompt, which the format counts as part of the answer.
  pub(super) generation_prompt: String,
  /// llama.cpp's description of the format.
  pub(super) parser: String,
}

/// Reads answers of one rendered chat.
#[derive(Debug)]
pub(super) struct AnswerParser {
  pointer: NonNull<LiChatParser>,
}

// SAFETY: a parser is immutable after its creation.
unsafe impl Send for AnswerParser {}
// SAFETY: as above; parsing works on its own state.
unsafe impl Sync for AnswerParser {}

/// An answer in parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Answer {
  /// Text for the user.
  pub content: String,
  /// Text of the reasoning block.
  pub reasoning: String,
  /// Calls in their order.
  pub calls: Vec<ToolCall>,
}

/// One call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ToolCall {
  /// The model's own id; empty when its format has none.
  pub id: String,
  /// Name of the tool.
  pub name: String,
  /// JSON text of the arguments; incomplete while the answer is.
  pub arguments: String,
}

impl AnswerParser {
  /// A parser of `format`.
  ///
  /// # Errors
  /// `INVALID_INPUT` for a format that no rendered chat gave.
  pub(super) fn new(format: &AnswerFormat) -> Result<Self> {
    let generation_prompt = c_string("the generation prompt", &format.generation_prompt)?;
    let parser = c_string("the parser", &format.parser)?;
    if !(0..=4).contains(&format.number) {
      return Err(EngineError::new(ErrorCode::InvalidInput, "the answer format is not known"));
    }
    let mut error = LiError::new();
    // SAFETY: the strings outlive the call, which copies them.
    let pointer = unsafe {
      li_chat_parser_new(format.number, generation_prompt.as_ptr(), parser.as_ptr(), &raw mut error)
    };
    error.check("the answer format cannot be read")?;
    match NonNull::new(pointer) {
      Some(pointer) => Ok(Self { pointer }),
      None => Err(EngineError::new(ErrorCode::Internal, "no parser was made")),
    }
  }

  /// Reads `text`, the answer so far when `partial`.
  ///
  /// # Errors
  /// `INTERNAL` when a complete answer does not have the format.
  pub(super) fn parse(&self, text: &str, partial: bool) -> Result<Answer> {
    let text = c_string("the answer", &text.replace('\0', "\u{FFFD}"))?;
    let mut error = LiError::new();
    // SAFETY: the handle is alive, the string outlives the call.
    let json = unsafe { li_chat_parser_parse(self.pointer.as_ptr(), text.as_ptr(), partial, &raw mut error) };
    error.check("the answer does not have the format of its template")?;
    let Some(json) = NonNull::new(json) else {
      return Err(EngineError::new(ErrorCode::Internal, "parsing gave no answer"));
    };
    // SAFETY: a NUL-terminated string of the shim, freed after the copy.
    let copy = unsafe { CStr::from_ptr(json.as_ptr()) }.to_string_lossy().into_owned();
    // SAFETY: as above.
    unsafe { li_string_free(json.as_ptr()) };
    serde_json::from_str(&copy).map_err(|error| EngineError::new(ErrorCode::Internal, error.to_string()))
  }
}

impl Drop for AnswerParser {
  fn drop(&mut self) {
    // SAFETY: created by li_chat_parser_new, freed once.
    unsafe { li_chat_parser_free(self.pointer.as_ptr()) }
  }
}
