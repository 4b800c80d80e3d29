// Where things are: the repository, the build folders, the models.
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");

export const fromRoot = (...parts) => join(root, ...parts);

/** Cargo's output folder; CARGO_TARGET_DIR is honoured as cargo does. */
export const targetDir = () => process.env.CARGO_TARGET_DIR ?? fromRoot("target");

/** What clones share: models and tools live outside the repository. */
export const cacheDir = (env = process.env) =>
  join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "local-inference");

/** Where the development models are. */
export const modelsDir = (env = process.env) =>
  env.LOCAL_INFERENCE_DEV_MODELS || join(cacheDir(env), "models");
