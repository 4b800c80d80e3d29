//! The table of architectures is the one of the llama.cpp that is linked.

use std::path::Path;

use local_inference_core::gguf::ARCHITECTURES;

const SOURCE: &str = env!("LOCAL_INFERENCE_LLAMA_SOURCE");

#[test]
fn the_known_architectures_are_those_of_llama_cpp() {
  let path = Path::new(SOURCE).join("src/llama-arch.cpp");
  let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
  let (_, table) = text.split_once("LLM_ARCH_NAMES = {").unwrap();
  let (table, _) = table.split_once("};").unwrap();
  // `{ LLM_ARCH_LLAMA, "llama" },`
  let mut theirs: Vec<&str> = table
    .lines()
    .filter(|line| line.trim_start().starts_with("{ LLM_ARCH_") && !line.contains("LLM_ARCH_UNKNOWN"))
    .map(|line| line.split('"').nth(1).unwrap())
    .collect();
  theirs.sort_unstable();
  assert_eq!(theirs, ARCHITECTURES);
}
