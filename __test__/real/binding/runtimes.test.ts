import { describe, expect, it } from "vitest";
import { bunExecutable, runChild } from "./support/child.js";

const bun = bunExecutable();
if (bun === undefined) console.log(`skipping Bun: no executable for ${process.platform}-${process.arch}`);

const RUNTIMES = [
  { name: "Node", runtime: process.execPath },
  ...(bun === undefined ? [] : [{ name: "Bun", runtime: bun }]),
];

describe.each(RUNTIMES)("in $name", ({ runtime }) => {
  const run = (script: string, ...args: string[]) => runChild(script, { runtime, args });

  it("loading, generating, cancelling, embedding and closing work", async () => {
    const { code, signal, stdout, stderr } = await run("core.mjs");
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: "" });
    expect(stdout).toBe("the core works\n");
  });

  it.each([
    ["exit", 3],
    ["throw", 1],
    ["natural", 0],
    ["prefill", 4],
    ["loading", 5],
    ["embedding", 7],
  ])("the process ends with the right code: %s", async (how, expected) => {
    for (const threads of ["1", "2"]) {
      const { code, signal } = await run("ending.mjs", how, threads);
      expect({ code, signal }).toEqual({ code: expected, signal: null });
    }
  });
});
