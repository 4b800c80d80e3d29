// Starting other programs, without a shell.
import { spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Failure } from "./log.mjs";
import { root } from "./paths.mjs";

const display = (command, args) => [command, ...args].join(" ");

/**
 * Runs a program with our stdout and stderr; a non-zero status is a `Failure`. With `stdout: "stderr"` what it
 * prints does not mix with the script's own result.
 */
export function run(command, args, { env, cwd = root, stdout = "inherit" } = {}) {
  const result = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", stdout === "stderr" ? process.stderr : stdout, "inherit"],
  });
  if (result.error) throw new Failure(`cannot start ${command}: ${result.error.message}`);
  if (result.status !== 0) {
    throw new Failure(`${display(command, args)} ended with ${result.signal ?? `status ${result.status}`}`);
  }
}

/** Runs a program and returns its stdout; a non-zero status is a `Failure` that quotes its stderr. */
export function capture(command, args, { env, cwd = root } = {}) {
  const result = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (result.error) throw new Failure(`cannot start ${command}: ${result.error.message}`);
  if (result.status !== 0) {
    throw new Failure(
      `${display(command, args)} ended with status ${result.status}\n${result.stderr.trim()}`,
    );
  }
  return result.stdout;
}

/** Whether a program runs and ends with status 0; `input` becomes its stdin. */
export function succeeds(command, args, input = "") {
  return spawnSync(command, args, { input, stdio: ["pipe", "ignore", "ignore"] }).status === 0;
}

/** The path of a program on PATH, or undefined. */
export function which(name, path = process.env.PATH ?? "") {
  const suffixes = process.platform === "win32" ? [".exe", ".cmd", ""] : [""];
  for (const folder of path.split(delimiter).filter(Boolean)) {
    for (const suffix of suffixes) {
      const file = join(folder, name + suffix);
      try {
        accessSync(file, constants.X_OK);
        if (statSync(file).isFile()) return file;
      } catch {
        // not here: look in the next folder
      }
    }
  }
  return undefined;
}
