import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { NativeModel } from "../../../index.js";
import { addon, ENDLESS, generate, LARGE, load, PATHS, readAll, rejection, SMALL } from "./support/addon.js";

let model: NativeModel;

beforeEach(async () => {
  model = await load("tiny");
});

afterEach(() => model.close());

const mappedModels = () =>
  readFileSync("/proc/self/maps", "utf8")
    .split("\n")
    .filter((line) => line.endsWith(".gguf"));

describe("closing a context", () => {
  it("rejects reads that wait, running and queued, with CLOSED", async () => {
    const context = await model.openContext(LARGE);
    const streams = [context.generate(ENDLESS), context.generate(ENDLESS), context.generate(ENDLESS)];
    await streams[0]?.next();
    const ends = Promise.allSettled(streams.map(readAll));
    await context.close();
    for (const end of await ends) {
      expect(end.status).toBe("rejected");
      if (end.status === "rejected") expect(end.reason.message).toMatch(/^CLOSED: /);
    }
    for (const stream of streams) expect(await stream.next()).toBeNull();
  });

  it("rejects at every moment of a generation", async () => {
    for (let reads = 0; reads < 20; reads++) {
      const context = await model.openContext(SMALL);
      const stream = context.generate(ENDLESS);
      for (let read = 0; read < reads; read++) await stream.next();
      const closing = context.close();
      await rejection("CLOSED", () => readAll(stream));
      await closing;
    }
  });

  it("rejects while a prompt is evaluated", async () => {
    const context = await model.openContext(LARGE);
    const stream = context.generate({ promptTokens: new Uint32Array(2000).fill(7) });
    const read = rejection("CLOSED", () => stream.next());
    await context.close();
    await read;
  });

  it("is done once for all who ask, together or later", async () => {
    const context = await model.openContext(LARGE);
    await context.generate(ENDLESS).next();
    await Promise.all([context.close(), context.close(), context.close()]);
    await context.close();
    await rejection("CLOSED", () => generate(context, ENDLESS));
    expect(context.info.contextSize).toBe(2048);
  });

  it("that was closed before does not close a newer one when it is collected or closed again", async () => {
    for (let round = 0; round < 5; round++) {
      const old = await model.openContext(SMALL);
      await old.close();
      const young = await model.openContext(SMALL);
      await old.close();
      const { done } = await generate(young, { ...ENDLESS, maxTokens: 20 });
      expect(done.usage.completionTokens).toBe(20);
      await young.close();
    }
  });
});

describe("closing a model", () => {
  it("closes its contexts and embedders", async () => {
    const context = await model.openContext(LARGE);
    const embedder = await model.openEmbedder({ pooling: "mean", threads: 1 });
    const stream = context.generate(ENDLESS);
    await stream.next();
    const read = rejection("CLOSED", () => readAll(stream));
    await model.close();
    await read;
    await rejection("CLOSED", () => generate(context, ENDLESS));
    await rejection("CLOSED", () => embedder.embed(["a"], {}).result());
    await Promise.all([context.close(), embedder.close(), model.close()]);
  });

  it.runIf(process.platform === "linux")(
    "frees the weights while JavaScript still holds its objects",
    async () => {
      const before = mappedModels().length;
      const chat = await load("chat");
      const context = await chat.openContext(SMALL);
      const stream = context.generate({ prompt: "Hello", maxTokens: 3, logprobs: 1 });
      await readAll(stream);
      expect(mappedModels().length).toBeGreaterThan(before);
      await chat.close();
      expect(mappedModels()).toHaveLength(before);
      expect(await stream.next()).toBeNull();
      expect(context.info.contextSize).toBe(512);
    },
  );

  it("closes a context that is just being opened", async () => {
    const opening = Promise.allSettled(Array.from({ length: 5 }, () => model.openContext(SMALL)));
    await model.close();
    for (const opened of await opening) {
      if (opened.status === "rejected") expect(opened.reason.message).toMatch(/^CLOSED: /);
      else await rejection("CLOSED", () => generate(opened.value, ENDLESS));
    }
  });

  it("makes every use of it an error", async () => {
    await Promise.all([model.close(), model.close()]);
    await rejection("CLOSED", () => model.header);
    await rejection("CLOSED", () => model.tokenize("a", {}));
    await rejection("CLOSED", () => model.detokenize(new Uint32Array([1]), {}));
    await rejection("CLOSED", () => model.countTokens("a", {}));
    await rejection("CLOSED", () => model.renderChat({ messagesJson: "[]" }));
    await rejection("CLOSED", () => model.openContext(SMALL));
    await rejection("CLOSED", () => model.openEmbedder({ pooling: "mean" }));
  });

  it("does not disturb another model", async () => {
    const other = await load("tiny");
    const context = await other.openContext(SMALL);
    const reading = generate(context, { ...ENDLESS, maxTokens: 200 });
    await model.close();
    expect((await reading).done.usage.completionTokens).toBe(200);
    await other.close();
  });
});

describe("a load", () => {
  it("that is cancelled at any moment rejects, and the next one succeeds", async () => {
    let cancelled = 0;
    for (const delay of [0, 1, 5, 20, 60]) {
      const loading = addon.loadModel(PATHS.chat, { useMmap: false });
      const result = rejection("CANCELLED", () => loading.result());
      await new Promise((resolve) => setTimeout(resolve, delay));
      if (loading.progress() < 1) {
        loading.cancel();
        await result;
        cancelled += 1;
      } else {
        await result.catch(() => undefined);
      }
    }
    expect(cancelled).toBeGreaterThan(0);
    await (await load("chat")).close();
  });

  it("that was cancelled after it was done rejects as well", async () => {
    const loading = addon.loadModel(PATHS.tiny, {});
    while (loading.progress() < 1) await new Promise((resolve) => setTimeout(resolve, 1));
    loading.cancel();
    await rejection("CANCELLED", () => loading.result());
  });

  it("gives its model once", async () => {
    const loading = addon.loadModel(PATHS.tiny, {});
    const results = await Promise.allSettled([loading.result(), loading.result()]);
    expect(results.map((result) => result.status).sort()).toEqual(["fulfilled", "rejected"]);
    await rejection("INVALID_INPUT", () => loading.result());
    for (const result of results) if (result.status === "fulfilled") await result.value.close();
  });

  it("reports its progress and does not go back", async () => {
    const loading = addon.loadModel(PATHS.chat, { useMmap: false });
    const seen = [loading.progress()];
    const result = loading.result();
    while (seen.at(-1) !== 1) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      seen.push(loading.progress());
    }
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    await (await result).close();
  });
});
