//! How well something was heard: errors in words, in who spoke when, in decisions, and what is left of noise and echo.

mod decisions;
mod diarization;
mod matching;
mod rttm;
mod signal;
mod stm;
mod words;

pub use decisions::equal_error_rate;
pub use diarization::{DiarizationErrors, Scoring, Turn, diarization_errors};
pub use rttm::{RttmTurn, read_rttm};
pub use signal::{erle_db, si_sdr_db};
pub use stm::{StmSegment, read_stm};
pub use words::{WordErrors, word_errors, words};
