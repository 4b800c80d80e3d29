//! Any bytes must end in a header or an error, and a header must be usable without a panic.

#![no_main]

use std::io::Cursor;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use local_inference_core::fit::{FitInput, plan};
use local_inference_core::gguf::GgufHeader;

fuzz_target!(|bytes: &[u8]| {
  let size = bytes.len() as u64;
  if let Ok(header) = GgufHeader::from_reader(Path::new("fuzz.gguf"), Cursor::new(bytes), size) {
    let input = FitInput::new(&header, 1 << 34, 1 << 29).expect("a valid header has a geometry");
    let _ = plan(&input);
  }
});
