import type { IAgentRuntime } from "@elizaos/core";
import { afterEach, describe, expect, it } from "vitest";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";
import type { Script } from "../../helpers/fake-script.js";
import { modelsDirectory } from "../../helpers/models.js";
import { startAgent } from "../../helpers/runtime.js";

const cleanups: (() => Promise<void>)[] = [];

async function agent(script: Script = {}, settings: Record<string, string> = {}) {
  const fake = useFake(script);
  const models = await modelsDirectory("embed.gguf");
  cleanups.push(models.remove);
  const all = { MODELS_DIR: models.path, LOCAL_EMBEDDING_MODEL: "embed.gguf", ...settings };
  const created = await startAgent({ settings: all });
  cleanups.unshift(() => created.runtime.stop());
  return { ...created, fake };
}

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  setNativeForTests(undefined);
});

function handler(runtime: IAgentRuntime, type = "TEXT_EMBEDDING") {
  return (params: unknown) => runtime.getModel(type)?.(runtime, params as never) as Promise<number[]>;
}

describe("the question for the dimensions", () => {
  it("is answered while the agent starts, from the header, without loading weights", async () => {
    const { fake, database } = await agent();
    expect(database.state.dimension).toBe(384);
    expect(fake.headers).toHaveLength(1);
    expect(fake.loads).toHaveLength(0);
  });

  it.each([[null], [undefined], [""], [{ text: "" }]])("%j is that question", async (params) => {
    const { runtime, fake } = await agent({ header: { embeddingLength: 700 } });
    expect(await handler(runtime)(params)).toEqual(new Array(768).fill(0));
    expect(fake.loads).toHaveLength(0);
  });

  it("follows LOCAL_EMBEDDING_DIMENSIONS", async () => {
    const header = { embeddingLength: 2048 };
    const { database } = await agent({ header }, { LOCAL_EMBEDDING_DIMENSIONS: "512" });
    expect(database.state.dimension).toBe(512);
  });

  it("fails when the file is missing, and the agent says why it does not start", async () => {
    const starting = agent({}, { LOCAL_EMBEDDING_MODEL: "gone" });
    await expect(starting).rejects.toMatchObject({
      code: "LOCAL_INFERENCE_UNAVAILABLE",
      reason: "backend_unavailable",
      message: expect.stringContaining("gone.gguf"),
    });
  });
});

describe("an embedding", () => {
  it.each([["bread"], [{ text: "bread" }], [{ text: "bread", stream: true, maxTokens: 5 }]])(
    "of %j is a plain array, padded with zeros to a size that is stored",
    async (params) => {
      const { runtime, fake } = await agent();
      const vector = await handler(runtime)(params);
      expect(Array.isArray(vector)).toBe(true);
      expect(vector).toHaveLength(384);
      expect(vector.slice(0, 6)).toEqual([5, ...Buffer.from("bread")]);
      expect(vector.slice(8).every((value) => value === 0)).toBe(true);
      expect(fake.batches).toMatchObject([{ texts: ["bread"], options: { truncate: "head" } }]);
    },
  );

  it("keeps the leading dimensions when the setting asks for fewer", async () => {
    const { runtime, fake } = await agent(
      {},
      { LOCAL_EMBEDDING_DIMENSIONS: "4", LOCAL_EMBEDDING_TRUNCATE: "tail" },
    );
    const vector = await handler(runtime)("bread");
    expect(fake.batches[0]?.options).toMatchObject({ dimensions: 4, truncate: "tail" });
    expect(vector.slice(0, 5)).toEqual([5, ...Buffer.from("bre"), 0]);
  });

  it("of ten calls at once is one batch", async () => {
    const { runtime, fake } = await agent();
    const texts = Array.from({ length: 10 }, (_, index) => "x".repeat(index + 1));
    const vectors = await Promise.all(
      texts.map((text) => runtime.useModel("TEXT_EMBEDDING", { text }) as Promise<number[]>),
    );
    expect(vectors.map((vector) => vector[0])).toEqual(texts.map((text) => text.length));
    expect(fake.batches).toHaveLength(1);
  });

  it("of many texts in one call is one vector for each", async () => {
    const { runtime, fake } = await agent();
    const batch = handler(runtime, "TEXT_EMBEDDING_BATCH");
    const vectors = (await batch({ texts: ["a", "bb"] })) as unknown as number[][];
    expect(vectors.map((vector) => [vector.length, vector[0]])).toEqual([
      [384, 1],
      [384, 2],
    ]);
    expect(fake.batches).toHaveLength(1);
    expect(await batch({ texts: [] })).toEqual([]);
  });

  it.each([[{}], [{ text: 5 }], [5]])("of %j is refused", async (params) => {
    const { runtime } = await agent();
    const refusal = { code: "INVALID_INPUT", reason: "invalid_input" };
    await expect(handler(runtime)(params)).rejects.toMatchObject(refusal);
  });

  it.each([[null], [{ texts: "a" }], [{ texts: [1] }]])("of the batch %j is refused", async (params) => {
    const { runtime } = await agent();
    const batch = handler(runtime, "TEXT_EMBEDDING_BATCH");
    await expect(batch(params)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  it("that fails rejects: it never is a zero vector", async () => {
    const { runtime } = await agent({ embedError: () => "DECODE_FAILED: no" });
    await expect(handler(runtime)("bread")).rejects.toMatchObject({ code: "DECODE_FAILED" });
  });

  it("stops with the request's signal", async () => {
    const { runtime, fake } = await agent();
    const aborted = handler(runtime)({ text: "bread", signal: AbortSignal.abort() });
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.loads).toHaveLength(0);
  });
});
