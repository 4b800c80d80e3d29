//! Constraints over a small vocabulary: what they admit, what they determine, how they end early, what they refuse.

mod closing;
mod gbnf;
mod hostile;
mod lexicon;
mod parts;
mod schemas;
mod traps;
