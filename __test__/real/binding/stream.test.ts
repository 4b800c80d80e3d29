import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Chunk, NativeContext, NativeModel } from "../../../index.js";
import { addon, ENDLESS, generate, LARGE, load, PATHS, readAll, turnsDuring } from "./support/addon.js";

let model: NativeModel;
let context: NativeContext;

beforeAll(async () => {
  model = await load("tiny");
  context = await model.openContext(LARGE);
});

afterAll(() => model?.close());

describe("the event loop turns", () => {
  it("while a model loads", async () => {
    const loading = addon.loadModel(PATHS.chat, { useMmap: false, checkTensors: true });
    const result = loading.result();
    expect(await turnsDuring(result)).toBeGreaterThan(5);
    expect(loading.progress()).toBe(1);
    await (await result).close();
  });

  it("while a prompt is evaluated and while tokens are generated", async () => {
    const promptTokens = new Uint32Array(1500).fill(7);
    const stream = context.generate({ promptTokens, ignoreEos: true, maxTokens: 400 });
    expect(await turnsDuring(stream.next())).toBeGreaterThan(2);
    expect(await turnsDuring(readAll(stream))).toBeGreaterThan(5);
  });
});

describe("chunks", () => {
  it("arrive while decoding, not all at the end", async () => {
    const { chunks, done } = await generate(context, { ...ENDLESS, maxTokens: 300 });
    expect(chunks.filter((chunk) => chunk.tokens > 0).length).toBeGreaterThan(3);
    expect(chunks.reduce((sum, chunk) => sum + chunk.tokens, 0)).toBe(300);
    expect(done.usage.completionTokens).toBe(300);
    expect(chunks.slice(0, -1).every((chunk) => chunk.done === undefined)).toBe(true);
  });

  it("answer concurrent reads in the order of the calls and lose nothing", async () => {
    const input = { ...ENDLESS, maxTokens: 200 };
    const { text } = await generate(context, input);
    const stream = context.generate(input);
    const order: number[] = [];
    const reads = Array.from({ length: 250 }, (_, index) =>
      stream.next().then((chunk) => {
        order.push(index);
        return chunk;
      }),
    );
    const chunks = await Promise.all(reads);
    const last = chunks.findIndex((chunk) => chunk?.done !== undefined);
    expect(
      chunks
        .slice(0, last + 1)
        .map((chunk) => chunk?.text)
        .join(""),
    ).toBe(text);
    expect(chunks.slice(last + 1).every((chunk) => chunk === null)).toBe(true);
    expect(order.filter((index) => index <= last)).toEqual(
      Array.from({ length: last + 1 }, (_, index) => index),
    );
  });

  it("are followed by null for ever", async () => {
    const stream = context.generate({ ...ENDLESS, maxTokens: 3 });
    await readAll(stream);
    for (let read = 0; read < 5; read++) expect(await stream.next()).toBeNull();
  });

  it("carry a log-probability for every token when asked", async () => {
    const { chunks } = await generate(context, { ...ENDLESS, maxTokens: 20, logprobs: 3 });
    const logprobs = chunks.flatMap((chunk) => chunk.logprobs ?? []);
    expect(logprobs).toHaveLength(20);
    for (const { logprob, top } of logprobs) {
      expect(top).toHaveLength(3);
      expect(logprob).toBeLessThanOrEqual(0);
      expect(top[0]?.logprob).toBeGreaterThanOrEqual(top[2]?.logprob ?? Number.NaN);
    }
  });
});

describe("a consumer that does not read", () => {
  it("stops the producer, and reading on continues where it stopped", async () => {
    const { text } = await generate(context, ENDLESS);
    const stream = context.generate(ENDLESS);
    const first = (await stream.next()) as Chunk;
    await sleep(500);
    const second = (await stream.next()) as Chunk;
    // Fewer when the machine is busy; without a limit it would be all of them.
    expect(second.tokens).toBeLessThan(80);
    const rest = await readAll(stream);
    expect(first.text + second.text + rest.text).toBe(text);
    expect(rest.done.usage.completionTokens).toBe(ENDLESS.maxTokens);
  });

  it("costs the tokens of the backlog and no more when it gives up", async () => {
    const stream = context.generate(ENDLESS);
    await sleep(500);
    stream.cancel();
    const { done } = await readAll(stream);
    expect(done.finishReason).toBe("cancelled");
    expect(done.usage.completionTokens).toBeLessThan(80);
  });

  it("does not stop a request of another context", async () => {
    const other = await model.openContext(LARGE);
    const idle = context.generate(ENDLESS);
    await idle.next();
    const { done } = await generate(other, { ...ENDLESS, maxTokens: 200 });
    expect(done.usage.completionTokens).toBe(200);
    idle.cancel();
    await readAll(idle);
    await other.close();
  });
});
