import { afterEach, describe, expect, it, vi } from "vitest";
import type { Embedder } from "../../../../ts/engine/embedding/embedder.js";
import { LocalModel } from "../../../../ts/engine/model.js";
import { setNativeForTests } from "../../../../ts/native/addon.js";
import { type Fake, useFake } from "../../../helpers/fake-native.js";
import type { Script } from "../../../helpers/fake-script.js";

afterEach(() => setNativeForTests(undefined));

async function embedder(script: Script = {}): Promise<{ fake: Fake; embedder: Embedder }> {
  const fake = useFake(script);
  const model = await LocalModel.load("a.gguf");
  return { fake, embedder: await model.createEmbedder() };
}

const lengths = (vectors: Float32Array[]) => vectors.map((vector) => vector[0]);

it("calls made together become one batch, and each gets its own vectors and tokens", async () => {
  const { fake, embedder: open } = await embedder();
  const texts = Array.from({ length: 10 }, (_, index) => "x".repeat(index + 1));
  const results = await Promise.all(texts.map((text) => open.embed([text])));
  expect(fake.batches.map((batch) => batch.texts.length)).toEqual([10]);
  expect(results.map(({ vectors }) => lengths(vectors))).toEqual(texts.map((text) => [text.length]));
  expect(results.map(({ tokens }) => tokens)).toEqual(texts.map((text) => text.length));
});

it("calls made while the model is busy wait for the next batch together", async () => {
  const { fake, embedder: open } = await embedder({ holdEmbeddings: true });
  const first = open.embed(["a"]);
  await vi.waitFor(() => expect(fake.batches).toHaveLength(1));
  const later = [open.embed(["bb"]), open.embed(["ccc", "dddd"])];
  fake.release();
  await first;
  await vi.waitFor(() => expect(fake.batches).toHaveLength(2));
  fake.release();
  const [second, third] = await Promise.all(later);
  expect(fake.batches[1]?.texts).toEqual(["bb", "ccc", "dddd"]);
  expect([lengths(second?.vectors ?? []), lengths(third?.vectors ?? [])]).toEqual([[2], [3, 4]]);
});

it("calls with different options do not share a batch", async () => {
  const { fake, embedder: open } = await embedder();
  const [whole, part] = await Promise.all([open.embed(["a"]), open.embed(["b"], { dimensions: 4 })]);
  expect(fake.batches).toHaveLength(2);
  expect([whole.vectors[0]?.length, part.vectors[0]?.length]).toEqual([8, 4]);
});

it("a text that cannot be embedded fails its own call only", async () => {
  const { embedder: open } = await embedder({
    embedError: (texts) => (texts.includes("too long") ? "CONTEXT_OVERFLOW: 900 tokens, 256 fit" : undefined),
  });
  const results = await Promise.allSettled(["a", "too long", "c"].map((text) => open.embed([text])));
  expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(results[1]).toMatchObject({ reason: { code: "CONTEXT_OVERFLOW" } });
});

it("no texts need no model", async () => {
  const { fake, embedder: open } = await embedder();
  expect(await open.embed([])).toEqual({ vectors: [], tokens: 0 });
  expect(fake.batches).toHaveLength(0);
});

it("tokens beyond what the model reads are not counted", async () => {
  const { embedder: open } = await embedder({ maxEmbeddingTokens: 5 });
  const results = await Promise.all([open.embed(["123456789"]), open.embed(["12"])]);
  expect(results.map((result) => result.tokens)).toEqual([5, 2]);
});

describe("an abort signal", () => {
  it("that has already fired keeps the addon untouched", async () => {
    const { fake, embedder: open } = await embedder();
    const aborted = open.embed(["a"], { signal: AbortSignal.abort() });
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.batches).toHaveLength(0);
  });

  it("takes one call out of a batch and leaves the others", async () => {
    const { fake, embedder: open } = await embedder({ holdEmbeddings: true });
    const controller = new AbortController();
    const leaving = open.embed(["a"], { signal: controller.signal });
    const staying = open.embed(["bb"]);
    await vi.waitFor(() => expect(fake.batches).toHaveLength(1));
    controller.abort();
    await expect(leaving).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.batches[0]?.cancelled).toBe(false);
    fake.release();
    expect(lengths((await staying).vectors)).toEqual([2]);
  });

  it("of everyone in a batch stops the model", async () => {
    const { fake, embedder: open } = await embedder({ holdEmbeddings: true });
    const controller = new AbortController();
    const calls = [open.embed(["a"], controller), open.embed(["b"], controller)];
    await vi.waitFor(() => expect(fake.batches).toHaveLength(1));
    controller.abort();
    const results = await Promise.allSettled(calls);
    expect(results.every((result) => result.status === "rejected")).toBe(true);
    expect(fake.batches[0]?.cancelled).toBe(true);
  });
});

it("closing refuses what waits and what is running", async () => {
  const { fake, embedder: open } = await embedder({ holdEmbeddings: true });
  const running = open.embed(["a"]);
  await vi.waitFor(() => expect(fake.batches).toHaveLength(1));
  const waiting = open.embed(["b"]);
  await open.close();
  await expect(running).rejects.toMatchObject({ code: "CLOSED" });
  await expect(waiting).rejects.toMatchObject({ code: "CLOSED" });
});
