//! Runs every gate and prints the evidence as JSON; ends with status 1 if one fails.
//!
//! The arguments are GGUF files: their weights are measured as well. `npm run verify:kernels` names those of the tests.

mod weights;

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use local_inference_kernels::verify;

fn main() -> Result<ExitCode, Box<dyn Error>> {
  let mut samples = Vec::new();
  for path in std::env::args_os().skip(1) {
    samples.extend(weights::read(&PathBuf::from(path))?);
  }
  let evidence = verify(&samples, &|| false)?;
  writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&evidence)?)?;
  Ok(if evidence.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
