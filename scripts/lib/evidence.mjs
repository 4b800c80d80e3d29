// The files in which `verify:` scripts leave what they found, for whoever compares machines.
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fromRoot, targetDir } from "./paths.mjs";
import { capture, succeeds } from "./run.mjs";

/** The commit that is checked out, if this is a repository. */
export const commit = () =>
  succeeds("git", ["-C", fromRoot(), "rev-parse"]) ? capture("git", ["rev-parse", "HEAD"]).trim() : undefined;

/** What the system calls the processor. */
export const processorModel = () => cpus()[0]?.model;

/** Writes `evidence` to `out`, or to `name` in cargo's output folder. @returns the file. */
export function writeEvidence(evidence, name, out) {
  const file = resolve(out ?? join(targetDir(), name));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(evidence, null, 2)}\n`);
  return file;
}
