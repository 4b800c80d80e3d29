//! Tokens.

/// Index of a token in the vocabulary, from 0.
pub type Token = i32;
