//! Speculative decoding: what is drafted, how many tokens, and whether it pays.
//!
//! A drafter proposes tokens, the target evaluates all of them in one decode, and each is kept only if sampling chooses
//! it anyway (Leviathan, Kalman, Matias 2023, "Fast inference from transformers via speculative decoding"). A decode of
//! k tokens costs less than k decodes, but more than one: a window that is too long, or a drafter that is wrong, makes
//! generation slower. So the window is chosen from what is measured on this machine ([`Costs`], [`Acceptance`],
//! [`Window`]).

mod acceptance;
mod account;
mod costs;
mod heads;
mod kind;
mod limits;
mod ngram;
mod pairing;
mod stakes;
mod window;

pub use acceptance::{Acceptance, expected_tokens};
pub use account::Account;
pub use costs::Costs;
pub use heads::{Heads, own_heads};
pub use kind::Kind;
pub use limits::{Limits, MAX_WINDOW};
pub use ngram::NgramDrafter;
pub use pairing::{Problem, Unusable, pair};
pub use stakes::Beside;
pub use window::{Choice, Window};
