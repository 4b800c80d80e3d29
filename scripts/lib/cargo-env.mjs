import { root } from "./paths.mjs";
import { which } from "./run.mjs";

/**
 * Environment for every cargo call. With ccache, a new clone does not compile llama.cpp's 300 files again.
 * Cargo does not watch these variables, so setting or dropping them never starts a rebuild.
 */
export function cargoEnv() {
  if (!which("ccache")) return {};
  return {
    CMAKE_C_COMPILER_LAUNCHER: "ccache",
    CMAKE_CXX_COMPILER_LAUNCHER: "ccache",
    // Paths below the repository are stored relative to it: clones in other folders then share entries.
    CCACHE_BASEDIR: root,
  };
}
