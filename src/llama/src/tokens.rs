//! Text to tokens and back.

use std::ffi::c_char;
use std::ptr::NonNull;

use llama_cpp_sys_2 as sys;
use local_inference_core::decoder::Token;
use local_inference_core::embed::Specials;
use local_inference_core::error::{EngineError, ErrorCode, Result};

use crate::ffi::{LiError, li_detokenize, li_piece, li_tokenize};

/// A model's vocabulary. Lives as long as the model that lent it.
#[derive(Clone, Copy)]
pub(crate) struct Vocabulary(NonNull<sys::llama_vocab>);

// SAFETY: a vocabulary is immutable after loading; every function below only reads it.
unsafe impl Send for Vocabulary {}
// SAFETY: as above.
unsafe impl Sync for Vocabulary {}

impl Vocabulary {
  /// # Safety
  /// `model` must be alive while the result is used.
  pub(crate) unsafe fn of(model: NonNull<sys::llama_model>) -> Result<Self> {
    // SAFETY: the caller vouches for `model`.
    let vocab = unsafe { sys::llama_model_get_vocab(model.as_ptr()) };
    NonNull::new(vocab.cast_mut())
      .map(Self)
      .ok_or_else(|| EngineError::new(ErrorCode::ModelInvalid, "the model has no vocabulary"))
  }

  pub(crate) fn len(self) -> u32 {
    // SAFETY: the vocabulary is alive (see `of`), here and below.
    u32::try_from(unsafe { sys::llama_vocab_n_tokens(self.0.as_ptr()) }).unwrap_or(0)
  }

  pub(crate) fn is_end(self, token: Token) -> bool {
    // SAFETY: as above; out-of-range tokens are not passed (they come from the sampler).
    unsafe { sys::llama_vocab_is_eog(self.0.as_ptr(), token) }
  }

  pub(crate) fn is_control(self, token: Token) -> bool {
    // SAFETY: as above.
    unsafe { sys::llama_vocab_is_control(self.0.as_ptr(), token) }
  }

  pub(crate) fn specials(self) -> Specials {
    let vocab = self.0.as_ptr();
    let known = |token: Token| Some(token).filter(|token| *token >= 0);
    // SAFETY: as above.
    unsafe {
      Specials {
        bos: known(sys::llama_vocab_bos(vocab)),
        cls: known(sys::llama_vocab_bos(vocab)),
        eos: known(sys::llama_vocab_eos(vocab)),
        sep: known(sys::llama_vocab_sep(vocab)),
      }
    }
  }

  /// Tokens of `text`. `add_special` adds the begin and end tokens that the model asks for; `parse_special` reads
  /// special tokens written in the text.
  pub(crate) fn tokenize(self, text: &str, add_special: bool, parse_special: bool) -> Result<Vec<Token>> {
    if i32::try_from(text.len()).is_err() {
      return Err(EngineError::new(ErrorCode::InvalidInput, "the text is longer than 2 GiB"));
    }
    let call = |out: &mut [Token]| {
      let mut error = LiError::new();
      // SAFETY: `out` has the stated capacity; the text is passed with its length.
      let count = unsafe {
        li_tokenize(
          self.0.as_ptr(),
          text.as_ptr().cast(),
          text.len(),
          out.as_mut_ptr(),
          capacity(out.len()),
          add_special,
          parse_special,
          &raw mut error,
        )
      };
      error.check("the text cannot be tokenised").map(|()| count)
    };
    grow(text.len() / 3 + 16, call)
  }

  /// Text of `tokens`; control tokens are written out only with `special`. Invalid UTF-8 becomes U+FFFD.
  pub(crate) fn detokenize(self, tokens: &[Token], special: bool) -> Result<String> {
    if let Some(token) =
      tokens.iter().find(|token| u32::try_from(**token).is_ok_and(|t| t >= self.len()) || **token < 0)
    {
      return Err(EngineError::new(
        ErrorCode::InvalidInput,
        format!("token {token} is outside the vocabulary of {} tokens", self.len()),
      ));
    }
    let call = |out: &mut [u8]| {
      let mut error = LiError::new();
      // SAFETY: both slices are passed with their lengths; every token is in range (checked above).
      let count = unsafe {
        li_detokenize(
          self.0.as_ptr(),
          tokens.as_ptr(),
          capacity(tokens.len()),
          out.as_mut_ptr().cast::<c_char>(),
          capacity(out.len()),
          special,
          &raw mut error,
        )
      };
      error.check("the tokens cannot be turned into text").map(|()| count)
    };
    let bytes = grow(tokens.len() * 4 + 16, call)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
  }

  /// Appends the bytes of one token to `out`.
  pub(crate) fn piece(self, token: Token, special: bool, out: &mut Vec<u8>) {
    let mut buffer = [0_u8; 256];
    let call = |buffer: &mut [u8]| {
      let mut error = LiError::new();
      // SAFETY: the buffer is passed with its length.
      unsafe {
        li_piece(
          self.0.as_ptr(),
          token,
          buffer.as_mut_ptr().cast::<c_char>(),
          capacity(buffer.len()),
          special,
          &raw mut error,
        )
      }
    };
    let count = call(&mut buffer);
    if let Ok(count) = usize::try_from(count) {
      out.extend_from_slice(&buffer[..count]);
    } else if count > i32::MIN {
      let mut large = vec![0_u8; count.unsigned_abs() as usize];
      let count = usize::try_from(call(&mut large)).unwrap_or(0);
      out.extend_from_slice(&large[..count]);
    }
  }
}

fn capacity(length: usize) -> i32 {
  i32::try_from(length).unwrap_or(i32::MAX)
}

/// Calls `fill` with a buffer of `guess` items, and once more with the size it asked for by a negative count.
fn grow<T: Clone + Default>(guess: usize, fill: impl Fn(&mut [T]) -> Result<i32>) -> Result<Vec<T>> {
  let mut buffer = vec![T::default(); guess];
  let mut count = fill(&mut buffer)?;
  if count < 0 {
    if count == i32::MIN {
      return Err(EngineError::new(ErrorCode::InvalidInput, "the text has more than 2^31 tokens or bytes"));
    }
    buffer = vec![T::default(); count.unsigned_abs() as usize];
    count = fill(&mut buffer)?;
  }
  buffer.truncate(usize::try_from(count).unwrap_or(0));
  Ok(buffer)
}
