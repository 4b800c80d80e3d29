import type { IAgentRuntime } from "@elizaos/core";
import { afterEach, describe, expect, it } from "vitest";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";
import type { Script } from "../../helpers/fake-script.js";
import { PROMPT_TOKENS } from "../../helpers/fake-stream.js";
import { modelsDirectory } from "../../helpers/models.js";
import { startAgent } from "../../helpers/runtime.js";

const cleanups: (() => Promise<void>)[] = [];

async function agent(script: Script = {}) {
  const fake = useFake(script);
  const models = await modelsDirectory("chat.gguf", "embed.gguf");
  const created = await startAgent({
    settings: {
      MODELS_DIR: models.path,
      LOCAL_LARGE_MODEL: "chat",
      LOCAL_EMBEDDING_MODEL: "embed",
    },
  });
  cleanups.push(() => created.runtime.stop(), models.remove);
  return { ...created, fake };
}

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  setNativeForTests(undefined);
});

const use = (runtime: IAgentRuntime, type: string, params: unknown) =>
  runtime.useModel(type as never, params as never) as Promise<unknown>;

describe("MODEL_USED", () => {
  it("reports what a text request cost, with a short prompt and no path", async () => {
    const { runtime, events } = await agent();
    await use(runtime, "TEXT_LARGE", { prompt: "x".repeat(500) });
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      source: "local-inference",
      provider: "local-inference",
      type: "TEXT_LARGE",
      model: "chat.gguf",
      prompt: "x".repeat(200),
      tokens: { prompt: PROMPT_TOKENS, completion: 2, total: PROMPT_TOKENS + 2 },
      usage: { cachedPromptTokens: 3, decodeTokensPerSecond: 1 },
    });
  });

  it("reports a stream when it has ended", async () => {
    const { runtime, events } = await agent();
    const params = { prompt: "Hi", stream: true };
    const stream = (await use(runtime, "TEXT_SMALL", params)) as { textStream: AsyncIterable<string> };
    expect(events).toHaveLength(0);
    for await (const _ of stream.textStream);
    expect(events).toMatchObject([{ type: "TEXT_SMALL", tokens: { completion: 2 } }]);
  });

  it("reports what was generated before the reader left", async () => {
    const { runtime, events } = await agent({ holdAfter: 1 });
    const params = { prompt: "Hi", stream: true };
    const stream = (await use(runtime, "TEXT_LARGE", params)) as { textStream: AsyncIterable<string> };
    for await (const _ of stream.textStream) break;
    expect(events).toMatchObject([{ tokens: { prompt: PROMPT_TOKENS, completion: 1 } }]);
  });

  it("reports what was generated before an abort", async () => {
    const { runtime, events } = await agent({ holdAfter: 1 });
    const controller = new AbortController();
    const onStreamChunk = () => controller.abort();
    const answer = use(runtime, "TEXT_LARGE", { prompt: "Hi", onStreamChunk, signal: controller.signal });
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
    expect(events).toMatchObject([{ tokens: { completion: 1 } }]);
  });

  it("is silent about a request that never ran", async () => {
    const { runtime, events } = await agent({ generateError: "INVALID_INPUT: no" });
    await expect(use(runtime, "TEXT_LARGE", { prompt: "Hi" })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    expect(events).toHaveLength(0);
  });

  it("reports the tokens of embeddings", async () => {
    const { runtime, events } = await agent();
    await use(runtime, "TEXT_EMBEDDING", { text: "bread" });
    expect(events).toMatchObject([
      { type: "TEXT_EMBEDDING", model: "embed.gguf", tokens: { prompt: 5, completion: 0, total: 5 } },
    ]);
  });

  it("a listener that throws does not fail the request", async () => {
    const { runtime } = await agent();
    runtime.registerEvent("MODEL_USED", async () => {
      throw new Error("listener");
    });
    expect(await use(runtime, "TEXT_LARGE", { prompt: "Hi" })).toBe("Hello there");
  });
});
