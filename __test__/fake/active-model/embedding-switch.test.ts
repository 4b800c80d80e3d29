import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { IAgentRuntime, Plugin } from "@elizaos/core";
import { afterEach, describe, expect, it, vi } from "vitest";
import { agentOf } from "../../../ts/agent/agent.js";
import { writeSelection } from "../../../ts/download/selection.js";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { type Fake, useFake } from "../../helpers/fake-native.js";
import { modelsDirectory } from "../../helpers/models.js";
import { serveRoutes } from "../../helpers/route-server.js";
import { startAgent } from "../../helpers/runtime.js";

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  setNativeForTests(undefined);
  vi.restoreAllMocks();
});

/** Dimensions of each model of these tests; one of them comes later. */
const DIMENSIONS: Record<string, number> = { small: 384, other: 300, large: 768, nowhere: 100 };

async function agent(settings: Record<string, string> = {}, plugins: Plugin[] = []) {
  const fake = useFake();
  const read = fake.header.bind(fake);
  vi.spyOn(fake, "header").mockImplementation((path) => {
    const name = path.split("/").at(-1)?.replace(".gguf", "") ?? "";
    const embeddingLength = DIMENSIONS[name];
    return embeddingLength === undefined ? read(path) : { ...read(path), kind: "embedding", embeddingLength };
  });
  const models = await modelsDirectory();
  cleanups.push(models.remove);
  for (const name of ["small", "other", "large", "chat"]) {
    await writeFile(join(models.path, `${name}.gguf`), "GGUF");
  }
  const all = { MODELS_DIR: models.path, LOCAL_USE_OTHER_MODELS: "false", LOCAL_LARGE_MODEL: "chat" };
  const started = await startAgent({ settings: { ...all, ...settings }, plugins });
  cleanups.unshift(() => started.runtime.stop());
  const { active } = agentOf(started.runtime);
  const use = (embedding: string) => writeSelection(models.path, { embedding });
  return { ...started, fake, active, use, dir: models.path };
}

const embed = (runtime: IAgentRuntime, text = "bread") =>
  runtime.useModel("TEXT_EMBEDDING" as never, { text } as never) as unknown as Promise<number[]>;
const say = (runtime: IAgentRuntime) => runtime.useModel("TEXT_LARGE" as never, { prompt: "Hi" } as never);
const lastLoad = (fake: Fake) => fake.loads.at(-1)?.path.split("/").at(-1);

describe("another embedding model", () => {
  it("takes effect with a switch, padded to the length that the agent stores", async () => {
    const { runtime, active, fake, database } = await agent({ LOCAL_EMBEDDING_MODEL: "small" });
    expect(await embed(runtime)).toHaveLength(384);
    await active.switchTo("other");
    expect(await embed(runtime)).toHaveLength(384);
    expect(lastLoad(fake)).toBe("other.gguf");
    expect(fake.closed).toEqual(["embedder", "model"]);
    expect(database.state.dimension).toBe(384);
    // The question that elizaOS may ask again has the same answer.
    expect(await embed(runtime, "")).toHaveLength(384);
  });

  it("that another process chooses takes effect with the next request", async () => {
    const { runtime, active, fake, use } = await agent();
    await use("small");
    await say(runtime);
    expect(await embed(runtime)).toHaveLength(384);
    await use("other");
    expect(await embed(runtime)).toHaveLength(384);
    expect(lastLoad(fake)).toBe("other.gguf");
    expect(active.state("embedding").modelId).toBe("other");
  });

  it("with longer vectors than the agent stores is refused, says what to do, and the one before it stays", async () => {
    const { runtime, active, fake } = await agent({ LOCAL_EMBEDDING_MODEL: "small" });
    await embed(runtime);
    const refusal = active.switchTo("large");
    await expect(refusal).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringMatching(/large gives vectors of 768 dimensions, and this agent stores 384/),
      hint: expect.stringMatching(/at most 384 .* LOCAL_EMBEDDING_DIMENSIONS to 384 .* restart the agent/),
    });
    expect(await embed(runtime)).toHaveLength(384);
    expect([fake.loads.length, fake.closed]).toEqual([1, []]);
  });

  it("is refused in the same way when another process chooses it, and the refusal is shown", async () => {
    const { runtime, active, use, fake } = await agent();
    await use("small");
    await say(runtime);
    await embed(runtime);
    await use("large");
    expect(await embed(runtime)).toHaveLength(384);
    expect(lastLoad(fake)).toBe("small.gguf");
    expect(active.state("embedding")).toMatchObject({ modelId: "small", error: { code: "UNSUPPORTED" } });
  });

  it("that can be shortened is taken when the setting says so", async () => {
    const settings = { LOCAL_EMBEDDING_MODEL: "small", LOCAL_EMBEDDING_DIMENSIONS: "384" };
    const { runtime, active, fake } = await agent(settings);
    await active.switchTo("large");
    await embed(runtime).catch(() => undefined);
    expect(fake.batches.at(-1)?.options).toMatchObject({ dimensions: 384 });
  });

  it("must fit EMBEDDING_DIMENSION, which elizaOS takes without asking", async () => {
    const { runtime, active, database } = await agent({
      LOCAL_EMBEDDING_MODEL: "small",
      EMBEDDING_DIMENSION: "512",
    });
    expect(database.state.dimension).toBe(512);
    expect(await embed(runtime)).toHaveLength(512);
    await expect(active.switchTo("large")).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });
});

describe("an agent that started without an embedding model", () => {
  it("gets one by a choice, and elizaOS learns its dimensions", async () => {
    const { runtime, database, use } = await agent();
    expect(runtime.getModel("TEXT_EMBEDDING")).toBeUndefined();
    await use("large");
    await say(runtime);
    expect(database.state.dimension).toBe(768);
    expect(await embed(runtime)).toHaveLength(768);
  });

  it("gets one by the active route, at once", async () => {
    const { runtime, database } = await agent();
    const server = await serveRoutes(runtime);
    cleanups.unshift(() => server.close());
    const response = await fetch(`${server.url}/local-inference/active`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "small" }),
    });
    expect(response.status).toBe(200);
    expect(database.state.dimension).toBe(384);
    expect(await embed(runtime)).toHaveLength(384);
  });

  it("leaves embeddings to the plugin that makes them, and says why", async () => {
    const vector = new Array<number>(1536).fill(1);
    const cloud: Plugin = {
      name: "cloud",
      description: "Another provider.",
      models: { TEXT_EMBEDDING: async () => vector as never },
    };
    const { runtime, active, use, database } = await agent({}, [cloud]);
    await expect(active.switchTo("small")).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("Another plugin makes this agent's embeddings"),
      hint: expect.stringContaining("Restart the agent"),
    });
    await use("small");
    await say(runtime);
    expect(await embed(runtime)).toEqual(vector);
    expect(database.state.dimension).toBe(1536);
  });

  it("answers text although the chosen embedding model is not there, and takes it when it comes", async () => {
    const { runtime, use, dir } = await agent();
    await use("nowhere");
    expect(await say(runtime)).toBe("Hello there");
    expect(runtime.getModel("TEXT_EMBEDDING")).toBeUndefined();
    await writeFile(join(dir, "nowhere.gguf"), "GGUF");
    await say(runtime);
    expect(await embed(runtime)).toHaveLength(384);
  });
});
