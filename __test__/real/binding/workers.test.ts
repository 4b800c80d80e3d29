import { describe, expect, it } from "vitest";
import { runChild } from "./support/child.js";

async function run(mode: string, rounds: number): Promise<string> {
  const { code, signal, stdout, stderr } = await runChild("workers.mjs", { args: [mode, String(rounds)] });
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: "" });
  return stdout;
}

describe("the main thread loads and generates after", () => {
  it("ten workers were terminated while they generated", async () => {
    expect(await run("terminateInTheMiddle", 10)).toContain("main: 50 tokens");
  });

  it("workers were terminated at different moments of their start", async () => {
    expect(await run("terminateWhileLoading", 10)).toContain("main: 50 tokens");
  });

  it("workers ended themselves while they generated", async () => {
    expect(await run("exitInTheMiddle", 3)).toContain("main: 50 tokens");
  });

  it("two workers generated at once", async () => {
    expect(await run("generateAtOnce", 1)).toBe("300 tokens, code 0; 300 tokens, code 0\nmain: 50 tokens\n");
  });
});
