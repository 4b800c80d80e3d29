//! Compiles the C++ shim against the llama.cpp that llama-cpp-sys-2 has just built.

use std::path::{Path, PathBuf};
use std::{env, fs};

const SOURCES: [&str; 8] =
  ["parse.cpp", "load.cpp", "text.cpp", "chat.cpp", "sample.cpp", "decode.cpp", "draft.cpp", "heads.cpp"];

fn main() {
  let root = PathBuf::from(env::var_os("DEP_LLAMA_ROOT").expect("llama-cpp-sys-2 exports its OUT_DIR"));
  let source = source_dir(&root);
  let shim = Path::new("shim");

  let mut build = cc::Build::new();
  build
    .cpp(true)
    .std("c++17")
    .warnings(true)
    .flag_if_supported("-Wno-unused-parameter")
    .files(SOURCES.iter().map(|file| shim.join(file)));
  for dir in ["include", "ggml/include", "common", "vendor"] {
    // System includes: warnings of headers that are not ours would hide our own.
    build.flag(format!("-isystem{}", source.join(dir).display()));
  }
  build.compile("local_inference_shim");

  println!("cargo:rerun-if-changed=shim");
  // Test programs find the shared libraries that llama-cpp-sys-2 links next to them.
  if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
    println!("cargo:rustc-link-arg-tests=-Wl,-rpath,$ORIGIN");
  }
  // Baked into the tests only; a package looks beside the addon.
  println!("cargo:rustc-env=LOCAL_INFERENCE_LLAMA_SOURCE={}", source.display());
  let backends = env::var("DEP_LLAMA_BACKENDS_DIR").unwrap_or_default();
  println!("cargo:rustc-env=LOCAL_INFERENCE_BUILD_BACKENDS={backends}");
}

/// The headers of llama.cpp's `common` are only in the crate's source; CMake's cache knows where that is.
fn source_dir(root: &Path) -> PathBuf {
  let cache = root.join("build/CMakeCache.txt");
  let text = fs::read_to_string(&cache).unwrap_or_else(|error| panic!("{}: {error}", cache.display()));
  let line = text.lines().find_map(|line| line.strip_prefix("CMAKE_HOME_DIRECTORY:INTERNAL="));
  PathBuf::from(line.expect("CMake records its source directory"))
}
