//! Histories of text and media, and the store that finds snapshots by them.

mod cells;
mod prefix_store;
mod spans;
