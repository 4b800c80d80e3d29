//! Sets of tokens.

use llguidance::toktrie::SimpleVob;

use crate::token::Token;

/// Tokens that may come next, one bit each.
pub struct TokenMask(SimpleVob);

impl TokenMask {
  /// `token` alone of `size` tokens.
  pub fn only(token: Token, size: usize) -> Self {
    let mut mask = SimpleVob::alloc(size);
    if let Some(token) = u32::try_from(token).ok().filter(|&token| (token as usize) < size) {
      mask.allow_token(token);
    }
    Self(mask)
  }

  /// Those of `set`.
  pub(super) fn new(set: SimpleVob) -> Self {
    Self(set)
  }

  /// Bit `token % 32` of word `token / 32` is set when the token may come.
  pub fn words(&self) -> &[u32] {
    self.0.as_slice()
  }

  /// Whether `token` may come.
  pub fn allows(&self, token: Token) -> bool {
    u32::try_from(token).is_ok_and(|token| self.0.is_allowed(token))
  }
}
