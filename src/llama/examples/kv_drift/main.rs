//! How far answers drift with flash attention and with quantised KV caches (docs/kernels.md). JSON, one line a measurement.
//!
//! The arguments are the folder of the compute modules, a text, and GGUF files. `npm run verify:kv-cache` calls this.

mod drift;
mod evaluate;

use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use drift::Drift;
use evaluate::{Cache, Evaluator};
use serde_json::json;

/// Tokens for the comparison of attention with and without flash.
const LENGTHS: [usize; 4] = [64, 128, 256, 512];
/// Positions at the end of the text whose distributions are compared. A vocabulary of 262,144 makes 1 MiB of each.
const POSITIONS: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
  let arguments: Vec<String> = std::env::args().skip(1).collect();
  let [modules, text, models @ ..] = &arguments[..] else {
    return Err("usage: kv_drift MODULES TEXT MODEL.gguf...".into());
  };
  let text = std::fs::read_to_string(text)?;
  let mut out = std::io::stdout();
  let backend = evaluate::start(Path::new(modules))?;
  for path in models {
    let evaluator = Evaluator::load(&backend, Path::new(path), &text)?;
    let mut report = |gate: &str, cache: Cache, tokens: usize, drift: &Drift| {
      let on = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
      let line = json!({
        "gate": gate, "format": cache.name(), "on": on, "tokens": tokens, "count": drift.positions,
        "divergence": drift.divergence, "topOneAgreement": drift.agreement(), "largestDifference": drift.largest,
      });
      writeln!(out, "{line}")
    };
    for tokens in LENGTHS {
      let plain = evaluator.logits(Cache::PLAIN, tokens, POSITIONS)?;
      let exact = evaluator.logits(Cache::EXACT, tokens, POSITIONS)?;
      report("f16", Cache::PLAIN, tokens, &Drift::between(&exact, &plain))?;
      let flash = evaluator.logits(Cache::FLASH, tokens, POSITIONS)?;
      report("flash-attention", Cache::FLASH, tokens, &Drift::between(&plain, &flash))?;
    }
    let tokens = LENGTHS[3];
    let exact = evaluator.logits(Cache::FLASH, tokens, POSITIONS)?;
    for cache in Cache::QUANTISED {
      let logits = evaluator.logits(cache, tokens, POSITIONS)?;
      report("kv-cache", cache, tokens, &Drift::between(&exact, &logits))?;
    }
  }
  Ok(())
}
