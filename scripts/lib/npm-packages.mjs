import { existsSync, statSync } from "node:fs";
import { step } from "./log.mjs";
import { fromRoot } from "./paths.mjs";
import { run } from "./run.mjs";

/** npm writes this file at the end of every installation. */
const installed = "node_modules/.package-lock.json";

function isCurrent() {
  const path = fromRoot(installed);
  return existsSync(path) && statSync(path).mtimeMs >= statSync(fromRoot("package-lock.json")).mtimeMs;
}

/** Installs what package-lock.json names if it is newer than node_modules. No package's install script runs. */
export function ensureNpmPackages() {
  if (isCurrent()) return;
  step("installing the npm packages");
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  run("npm", ["ci", ...options], { stdout: "stderr" });
}
