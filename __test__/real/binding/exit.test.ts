import { describe, expect, it } from "vitest";
import { runChild } from "./support/child.js";

/** A crash that depends on the moment shows in one of several tries. */
const TRIES = 4;

async function endings(how: string, ...args: string[]): Promise<string[]> {
  const results: string[] = [];
  for (let index = 0; index < TRIES; index++) {
    const threads = String(1 + (index % 2));
    const { code, signal } = await runChild("ending.mjs", { args: [how, threads, ...args] });
    results.push(signal ?? `code ${code}`);
  }
  return results;
}

describe("a process ends as it was asked to, and not by a signal of its own,", () => {
  it.each([
    ["by process.exit in the middle of a stream", "exit", 3],
    ["by an uncaught error in the middle of a stream", "throw", 1],
    ["by itself with a context open and a stream unread", "natural", 0],
    ["by process.exit while a prompt is evaluated", "prefill", 4],
    ["by process.exit while text becomes tokens", "tokenizing", 6],
    ["by process.exit while texts are embedded", "embedding", 7],
    ["by process.exit while a context is closing", "closing", 8],
  ])("%s", async (_, how, code) => {
    expect(await endings(how)).toEqual(new Array(TRIES).fill(`code ${code}`));
  });

  it("by process.exit at any moment of the first load", async () => {
    for (const delay of ["0", "10", "40"]) {
      expect(await endings("loading", delay)).toEqual(new Array(TRIES).fill("code 5"));
    }
  });

  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("by %s in the middle of a stream", async (wanted) => {
    const { code, signal } = await runChild("ending.mjs", {
      args: ["signal"],
      onReady: (kill) => kill(wanted),
    });
    expect({ code, signal }).toEqual({ code: null, signal: wanted });
  });

  it("and exit listeners that still use the addon get an error", async () => {
    const { code, signal, stdout } = await runChild("ending.mjs", { args: ["hook"] });
    expect({ code, signal }).toEqual({ code: 9, signal: null });
    expect(stdout).toMatch(/^CLOSED: /);
  });
});

describe("a process that closes nothing", () => {
  it("gets its memory back by garbage collection and ends by itself", async () => {
    const { code, signal, stdout, stderr } = await runChild("collected.mjs", { flags: ["--expose-gc"] });
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: "" });
    expect(stdout).toContain("nothing is left");
  });
});
