// Where things are: the repository, the build folders, the models.
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");

export const fromRoot = (...parts) => join(root, ...parts);

/** Cargo's output folder; CARGO_TARGET_DIR is honoured as cargo does. */
export const targetDir = () => process.env.CARGO_TARGET_DIR ?? fromRoot("target");

/** Development models live outside the repository, so that clones share them. */
export function modelsDir(env = process.env) {
  if (env.LOCAL_INFERENCE_DEV_MODELS) return env.LOCAL_INFERENCE_DEV_MODELS;
  return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "local-inference", "models");
}
