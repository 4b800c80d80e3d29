// The engines to compare with are no dependencies of the package: installed here when a run asks for one.
import { existsSync } from "node:fs";
import { step } from "../../scripts/lib/log.mjs";
import { fromRoot } from "../../scripts/lib/paths.mjs";
import { run } from "../../scripts/lib/run.mjs";

const peers = { "node-llama-cpp": "node_modules/node-llama-cpp/package.json" };

/**
 * Installs what bench/package.json pins if one of `adapters` is missing. Optional packages stay out: they are GPU
 * builds of several hundred megabytes, and the CPU build for Linux is named on its own.
 */
export function ensurePeers(adapters) {
  const missing = adapters.filter((name) => peers[name] && !existsSync(fromRoot("bench", peers[name])));
  if (missing.length === 0) return;
  step(`installing ${missing.join(", ")} into bench/node_modules (about 85 MB)`);
  const quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"];
  const options = ["--ignore-scripts", "--omit=optional", ...quiet];
  run("npm", ["install", "--prefix", fromRoot("bench"), ...options], {
    cwd: fromRoot("bench"),
    stdout: "stderr",
  });
}
