//! Makes `src/kernels/data/trellis-codebook.f32`; about a minute. With `--check` it only says whether the file is what comes out.
//!
//! `cargo run --release -p local-inference-kernels --example train_trellis`

use std::io::{Error, Write as _};
use std::path::Path;

use local_inference_kernels::train_trellis;

const SEED: u64 = 2;
const BLOCKS: usize = 3000;
const STEPS: usize = 120;

fn main() -> std::io::Result<()> {
  let (codebook, errors) = train_trellis(SEED, BLOCKS, STEPS);
  let last = errors.last().copied().unwrap_or_default();
  writeln!(std::io::stderr(), "mean squared error {last:.5} after {STEPS} steps on {BLOCKS} blocks")?;
  let bytes: Vec<u8> = codebook.iter().flat_map(|value| value.to_le_bytes()).collect();
  let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/trellis-codebook.f32");
  if !std::env::args().any(|argument| argument == "--check") {
    return std::fs::write(path, bytes);
  }
  if std::fs::read(path)? == bytes { Ok(()) } else { Err(Error::other("the stored codebook is another")) }
}
