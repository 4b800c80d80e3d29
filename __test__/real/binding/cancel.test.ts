import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GenerateInput, NativeContext, NativeModel } from "../../../index.js";
import { CAPITAL, ENDLESS, generate, LARGE, load, readAll } from "./support/addon.js";
import { runChild } from "./support/child.js";

let tiny: NativeModel;
let context: NativeContext;

beforeAll(async () => {
  tiny = await load("tiny");
  context = await tiny.openContext(LARGE);
});

afterAll(() => tiny?.close());

describe("a cancelled stream", () => {
  it("that nobody has read ends with the reason and then with null", async () => {
    const stream = context.generate(ENDLESS);
    stream.cancel();
    const { text, done } = await readAll(stream);
    expect(text).toBe("");
    expect(done.finishReason).toBe("cancelled");
    expect(await stream.next()).toBeNull();
  });

  it("delivers none of what was on its way", async () => {
    const stream = context.generate(ENDLESS);
    await stream.next();
    stream.cancel();
    const { text, done } = await readAll(stream);
    expect(text).toBe("");
    expect(done.finishReason).toBe("cancelled");
    expect(done.usage.completionTokens).toBeGreaterThan(0);
  });

  it("resolves a read that is waiting", async () => {
    const blocker = context.generate(ENDLESS);
    await blocker.next();
    const queued = context.generate(ENDLESS);
    const waiting = queued.next();
    queued.cancel();
    expect((await waiting)?.done).toMatchObject({
      finishReason: "cancelled",
      usage: { completionTokens: 0 },
    });
    blocker.cancel();
    await readAll(blocker);
  });

  it("may be cancelled twice, and after its end", async () => {
    const stream = context.generate({ ...ENDLESS, maxTokens: 5 });
    const { done } = await readAll(stream);
    stream.cancel();
    stream.cancel();
    expect(done.finishReason).toBe("length");
    expect(await stream.next()).toBeNull();
  });

  it("leaves the next one the same text as without it", async () => {
    const input = { ...ENDLESS, maxTokens: 50 };
    const { text } = await generate(context, input);
    for (const reads of [0, 1, 2, 3]) {
      const stream = context.generate({ ...ENDLESS, prompt: "something else" });
      for (let read = 0; read < reads; read++) await stream.next();
      stream.cancel();
      expect((await generate(context, input)).text).toBe(text);
    }
  });
});

describe("a stream cancelled while its prompt is evaluated", () => {
  it("generates nothing, and the next question is answered", async () => {
    const chat = await load("chat");
    try {
      const context = await chat.openContext({ contextSize: 2048, threads: 2 });
      const prompt = "The quick brown fox jumps over the lazy dog. ".repeat(180);
      const stream = context.generate({ prompt, maxTokens: 4 } satisfies GenerateInput);
      const read = stream.next();
      // A question behind it shows that the prompt is being worked on: it waits.
      const answer = generate(context, CAPITAL);
      await new Promise((resolve) => setTimeout(resolve, 50));
      stream.cancel();
      expect((await read)?.done).toMatchObject({ finishReason: "cancelled", usage: { completionTokens: 0 } });
      expect((await answer).text).toContain("Paris");
    } finally {
      await chat.close();
    }
  });
});

describe("a stream that nobody refers to", () => {
  it("stops its producer when it is collected", async () => {
    const { code, signal, stdout, stderr } = await runChild("dropped-stream.mjs", { flags: ["--expose-gc"] });
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: "" });
    expect(stdout).toContain("next request: 10 tokens");
  });

  it("is kept while a read is waiting", async () => {
    const { code, stdout, stderr } = await runChild("waiting-read.mjs", { flags: ["--expose-gc"] });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("40 tokens, length");
  });
});
