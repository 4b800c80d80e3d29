//! Development models and recordings, which `npm run models` fetches.

use std::path::PathBuf;

/// The file `name` of the models folder.
///
/// # Panics
/// If it is not there, saying how to get it.
pub(crate) fn read(name: &str) -> Vec<u8> {
  let folder = std::env::var_os("LOCAL_INFERENCE_DEV_MODELS").map_or_else(
    || {
      let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
      let home = std::env::var_os("HOME").map(PathBuf::from);
      cache.or(home.map(|home| home.join(".cache"))).expect("a home directory").join("local-inference/models")
    },
    PathBuf::from,
  );
  let path = folder.join(name);
  std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `npm run models`", path.display()))
}
