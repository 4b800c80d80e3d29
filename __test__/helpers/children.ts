import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";

/** Processes of one script that are started ahead, so that a test which needs hundreds does not wait for them. */
export class Children {
  readonly #folder: string;
  readonly #script: string;
  #ready: Promise<ChildProcess>[] = [];
  #closed = false;

  private constructor(folder: string, script: string, spare: number) {
    this.#folder = folder;
    this.#script = script;
    this.#ready = Array.from({ length: spare }, () => this.#start());
  }

  /** @param script The TypeScript of a process that says "ready". In one file it starts in half the time. */
  static async of(script: string, spare: number): Promise<Children> {
    const folder = await mkdtemp(join(tmpdir(), "children-"));
    await build({
      configFile: false,
      logLevel: "error",
      build: {
        ssr: script,
        outDir: folder,
        target: "node20",
        rollupOptions: { output: { entryFileNames: "child.mjs" } },
      },
      ssr: { noExternal: true },
    });
    return new Children(folder, join(folder, "child.mjs"), spare);
  }

  /** A process that is ready; another one is started in its place. */
  async take(): Promise<ChildProcess> {
    const first = this.#ready.shift() ?? this.#start();
    this.#ready.push(this.#start());
    return first;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const child of await Promise.all(this.#ready)) child.kill("SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }

  #start(): Promise<ChildProcess> {
    if (this.#closed) throw new Error("the children are closed");
    const child = fork(this.#script, [], { stdio: ["ignore", "ignore", "inherit", "ipc"], execArgv: [] });
    return new Promise((resolve, reject) => {
      child.once("message", () => resolve(child));
      child.once("exit", (code) => reject(new Error(`a child ended with ${code} before it was ready`)));
    });
  }
}
