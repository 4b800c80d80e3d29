import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface ChildOptions {
  runtime?: string;
  flags?: string[];
  args?: string[];
  /** Called with the first line that the child writes. */
  onReady?: (kill: (signal: NodeJS.Signals) => void) => void;
}

/** Longer than any child takes on a busy machine: one that never ends is killed and its test fails. */
const GIVE_UP_MS = 240_000;

/** Runs a script of `children/` and tells how it ended. */
export function runChild(script: string, options: ChildOptions = {}): Promise<Ended> {
  const path = fileURLToPath(new URL(`children/${script}`, import.meta.url));
  const child = spawn(
    options.runtime ?? process.execPath,
    [...(options.flags ?? []), path, ...(options.args ?? [])],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NODE_OPTIONS: "" },
      timeout: GIVE_UP_MS,
      killSignal: "SIGKILL",
    },
  );
  const ended: Ended = { code: null, signal: null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (ended.stdout === "") options.onReady?.((signal) => child.kill(signal));
    ended.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    ended.stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ ...ended, code, signal }));
  });
}

/** Bun's executable from its npm package; `undefined` on machines that it is not made for. */
export function bunExecutable(): string | undefined {
  const names = [
    `bun-${process.platform}-${process.arch}`,
    `bun-${process.platform}-${process.arch}-baseline`,
  ];
  return names
    .map((name) => fileURLToPath(new URL(`../../../../node_modules/@oven/${name}/bin/bun`, import.meta.url)))
    .find((path) => existsSync(path));
}
