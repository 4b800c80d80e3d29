import type { IAgentRuntime } from "@elizaos/core";
import { afterEach, describe, expect, it, vi } from "vitest";
import { agentOf } from "../../../ts/agent/agent.js";
import { memoryArbiter } from "../../../ts/engine/memory/shared.js";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { LocalInferenceService } from "../../../ts/service.js";
import { useFake } from "../../helpers/fake-native.js";
import type { Script } from "../../helpers/fake-script.js";
import { modelsDirectory } from "../../helpers/models.js";
import { startAgent } from "../../helpers/runtime.js";

const cleanups: (() => Promise<void>)[] = [];

async function agent(settings: Record<string, string> = {}, script: Script = {}) {
  const fake = useFake(script);
  const models = await modelsDirectory("chat.gguf", "embed.gguf");
  const created = await startAgent({
    settings: { MODELS_DIR: models.path, LOCAL_LARGE_MODEL: "chat", ...settings },
    character: { system: "You are Ada." },
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

describe("an agent's requests", () => {
  it("carry their lane, their conversation and the policy of a full context", async () => {
    const { runtime, fake } = await agent({ LOCAL_LANES: "TEXT_SMALL=background" });
    await use(runtime, "TEXT_LARGE", { prompt: "Hi", conversationId: "room" });
    await use(runtime, "TEXT_SMALL", { prompt: "Hi" });
    await use(runtime, "TEXT_LARGE", { prompt: "Hi", onStreamChunk: () => {} });
    const schema = { type: "object", properties: {} };
    fake.script.pieces = [{ text: "{}" }];
    await use(runtime, "OBJECT_LARGE", { prompt: "Hi", schema, lane: "background" });
    expect(fake.inputs).toMatchObject([
      { lane: "normal", contextFull: "error", conversation: `${runtime.agentId}/TEXT_LARGE/room` },
      { lane: "background", contextFull: "error" },
      { lane: "interactive", contextFull: "error" },
      { lane: "background", contextFull: "error" },
    ]);
  });

  it("are queued, cached and stored as the settings say", async () => {
    const { runtime, fake } = await agent({
      LOCAL_QUEUE_LIMIT: "8",
      LOCAL_QUEUE_TIMEOUT_MS: "2000",
      LOCAL_PREFIX_CACHE_MB: "64",
      LOCAL_CONVERSATIONS_DIR: "/var/conversations",
      LOCAL_CONVERSATIONS_MB: "100",
      LOCAL_CONVERSATIONS_HOURS: "1",
    });
    await use(runtime, "TEXT_LARGE", { prompt: "Hi" });
    expect(fake.contexts).toMatchObject([
      {
        queueLimit: 8,
        queueTimeoutMs: 2000,
        prefixCacheBytes: 64 * 1024 * 1024,
        state: {
          folder: "/var/conversations",
          bytes: 100 * 1024 * 1024,
          timeToLiveMs: 3_600_000,
          onBattery: false,
        },
      },
    ]);
  });

  it("store nothing unless a folder is set", async () => {
    const { runtime, fake } = await agent();
    await use(runtime, "TEXT_LARGE", { prompt: "Hi", roomId: "r" });
    for (const key of ["state", "queueLimit", "queueTimeoutMs", "prefixCacheBytes"])
      expect(fake.contexts[0]).not.toHaveProperty(key);
  });

  it("that wait too long or find the queue full fail with a code of their own", async () => {
    for (const code of ["QUEUE_TIMEOUT", "QUEUE_FULL"]) {
      const { runtime, fake } = await agent();
      fake.script.streamError = `${code}: no`;
      fake.script.pieces = [];
      await expect(use(runtime, "TEXT_LARGE", { prompt: "Hi" })).rejects.toMatchObject({ code });
    }
  });

  it("begin with what is stable of their segments", async () => {
    const { runtime, fake } = await agent();
    const promptSegments = [
      { content: "It rains.", stable: false },
      { content: "\nBe brief.", stable: true },
    ];
    await use(runtime, "TEXT_LARGE", { prompt: "It rains.\nBe brief.", promptSegments });
    await use(runtime, "TEXT_COMPLETION", { prompt: "It rains.\nBe brief.", promptSegments });
    expect(fake.inputs.map(({ prompt }) => prompt)).toEqual([
      "<system>You are Ada.<user>\nBe brief.\n\nIt rains.",
      "It rains.\nBe brief.",
    ]);
  });
});

describe("a full context", () => {
  const turn = (name: string) => ({ role: "user", content: name.repeat(700) });
  const messages = ["a", "b", "c"].map(turn);

  it("truncates the conversation when the settings say so, and reports it", async () => {
    const { runtime, fake, events } = await agent({ LOCAL_CONTEXT_FULL: "truncate" });
    const answer = await use(runtime, "TEXT_LARGE", { messages, maxTokens: 500 });
    expect(fake.inputs[0]?.prompt).toBe(`<user>${"b".repeat(700)}<user>${"c".repeat(700)}`);
    expect(answer).toMatchObject({ usage: { droppedMessages: 1 } });
    expect(events).toMatchObject([{ usage: { droppedMessages: 1, cachedPromptTokens: 3 } }]);
  });

  it("is an error that no other provider is asked about, by default", async () => {
    const overflow = "CONTEXT_OVERFLOW: the prompt has 9 tokens, but the context holds 8";
    const { runtime } = await agent({}, { generateError: overflow });
    await expect(use(runtime, "TEXT_LARGE", { messages })).rejects.toMatchObject({
      code: "CONTEXT_OVERFLOW",
      reason: "invalid_input",
      message: expect.stringContaining("9 tokens"),
    });
  });
});

describe("the service", () => {
  it("preloading evaluates the character's system text", async () => {
    const { fake } = await agent({ LOCAL_PRELOAD: "true" });
    await vi.waitFor(() => expect(fake.inputs.length).toBeGreaterThan(0));
    expect(fake.inputs[0]).toMatchObject({ prompt: "<system>You are Ada.<user>", prewarm: true });
  });

  it("loads the other models although the system text cannot be evaluated ahead", async () => {
    const settings = { LOCAL_PRELOAD: "true", LOCAL_EMBEDDING_MODEL: "embed" };
    const { fake } = await agent(settings, { generateError: "UNSUPPORTED: there is no prefix cache" });
    await vi.waitFor(() => expect(fake.embedders).toHaveLength(1));
  });

  it("prewarms what it is told to", async () => {
    const { runtime, fake } = await agent();
    const service = runtime.getService<LocalInferenceService>("local-inference" as never);
    expect(service).toBeInstanceOf(LocalInferenceService);
    await service?.prewarm("large", { messages: [{ role: "system", content: "Be brief." }] });
    expect(fake.inputs).toMatchObject([{ prompt: "<system>Be brief.<user>", prewarm: true }]);
  });
});

it("a model is admitted where idle ones would leave for it, and they do", async () => {
  const { runtime, fake } = await agent({ LOCAL_EMBEDDING_MODEL: "embed" }, { neededBytes: 600 });
  await use(runtime, "TEXT_EMBEDDING", { text: "bread" });
  fake.script.memoryAvailable = 300;
  const { active } = agentOf(runtime);
  await active.switchTo("chat", { roles: ["large"] });
  expect(fake.closed).toEqual(["embedder", "model"]);
  expect([active.state("large").status, active.state("embedding").status]).toEqual(["ready", "idle"]);
  expect(
    memoryArbiter()
      .snapshot()
      .entries.map(({ label }) => label),
  ).toEqual(["chat.gguf"]);
});

it("two agents in one process share an arbiter, which knows what each model is for", async () => {
  const { runtime } = await agent({ LOCAL_EMBEDDING_MODEL: "embed" });
  await use(runtime, "TEXT_LARGE", { prompt: "Hi" });
  await use(runtime, "TEXT_EMBEDDING", { text: "bread" });
  expect(memoryArbiter().snapshot().entries).toMatchObject([
    { label: "embed.gguf", role: "embedding", priority: 25, state: "ready", leases: 0 },
    { label: "chat.gguf", role: "text", priority: 100, state: "ready", leases: 0 },
  ]);
});
