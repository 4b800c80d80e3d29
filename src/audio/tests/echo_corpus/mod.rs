//! Scenes of a loudspeaker and a microphone in a room, made from a seed. Shared by the tests and `bench/echo`.
//!
//! A seed fixes everything: the room, where things stand, levels, noise and which voices speak. Even seeds are for choosing
//! the canceller's constants, odd ones for judging it.

pub mod random;
pub mod room;
pub mod scene;
pub mod signal;
