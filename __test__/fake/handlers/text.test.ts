import { type IAgentRuntime, ModelType, runWithStreamingContext } from "@elizaos/core";
import { afterEach, describe, expect, it, vi } from "vitest";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { type Fake, useFake } from "../../helpers/fake-native.js";
import type { Script } from "../../helpers/fake-script.js";
import { PROMPT_TOKENS } from "../../helpers/fake-stream.js";
import { modelsDirectory } from "../../helpers/models.js";
import { startAgent, type TestAgent } from "../../helpers/runtime.js";

const started: { agent: TestAgent; remove: () => Promise<void> }[] = [];

async function agent(
  script: Script = {},
  settings: Record<string, string> = {},
): Promise<TestAgent & { fake: Fake }> {
  const fake = useFake(script);
  const models = await modelsDirectory("small.gguf", "large.gguf");
  const all = {
    MODELS_DIR: models.path,
    LOCAL_SMALL_MODEL: "small",
    LOCAL_LARGE_MODEL: "large",
    ...settings,
  };
  const created = await startAgent({ settings: all, character: { system: "You are Ada." } });
  started.push({ agent: created, remove: models.remove });
  return { ...created, fake };
}

afterEach(async () => {
  for (const { agent: one, remove } of started.splice(0)) {
    await one.runtime.stop();
    await remove();
  }
  setNativeForTests(undefined);
});

/** useModel with parameters and types that core 1.7 does not declare. */
function use(runtime: IAgentRuntime, type: string, params: unknown): Promise<unknown> {
  return runtime.useModel(type as never, params as never);
}

interface Stream {
  textStream: AsyncIterable<string>;
  text: Promise<string>;
  usage: Promise<unknown>;
  finishReason: Promise<string>;
}

describe("text handlers", () => {
  it.each([
    [ModelType.TEXT_SMALL, "small"],
    [ModelType.TEXT_LARGE, "large"],
    [ModelType.TEXT_REASONING_SMALL, "small"],
    [ModelType.TEXT_REASONING_LARGE, "large"],
    [ModelType.TEXT_COMPLETION, "large"],
    ["TEXT_NANO", "small"],
    ["TEXT_MEDIUM", "small"],
    ["TEXT_MEGA", "large"],
    ["RESPONSE_HANDLER", "small"],
    ["ACTION_PLANNER", "small"],
  ])("%s is answered by the %s model", async (type, model) => {
    const { runtime, fake } = await agent();
    expect(await use(runtime, type, { prompt: "Hi" })).toBe("Hello there");
    expect(fake.loads.map(({ path }) => path)).toEqual([expect.stringContaining(`/${model}.gguf`)]);
  });

  it("the prompt goes through the chat template behind the character's system text", async () => {
    const { runtime, fake } = await agent();
    await use(runtime, "TEXT_LARGE", { prompt: "Hi" });
    expect(fake.inputs[0]).toMatchObject({ prompt: "<system>You are Ada.<user>Hi", parseSpecial: true });
  });

  it("TEXT_COMPLETION continues the prompt as it is", async () => {
    const { runtime, fake } = await agent();
    await use(runtime, "TEXT_COMPLETION", { prompt: "Once upon", stopSequences: ["."] });
    expect(fake.chats).toHaveLength(0);
    expect(fake.inputs[0]).toMatchObject({ prompt: "Once upon", parseSpecial: false, stops: ["."] });
  });

  it("reasoning is on for the REASONING types and off for the others, unless the settings say", async () => {
    const auto = await agent();
    await use(auto.runtime, "TEXT_LARGE", { prompt: "Hi" });
    await use(auto.runtime, "REASONING_LARGE", { prompt: "Hi" });
    expect(auto.fake.chats.map((chat) => chat.enableThinking)).toEqual([false, true]);
    const never = await agent({}, { LOCAL_ENABLE_THINKING: "false" });
    await use(never.runtime, "REASONING_LARGE", { prompt: "Hi" });
    expect(never.fake.chats[0]?.enableThinking).toBe(false);
  });

  it("every sampling parameter reaches the engine, those of the agent's settings too", async () => {
    const { runtime, fake } = await agent({}, { TEXT_LARGE_TEMPERATURE: "0.25", TEXT_LARGE_TOP_K: "11" });
    const params = { maxTokens: 5, minTokens: 1, topP: 0.8, minP: 0.1, seed: 7, repetitionPenalty: 1.2 };
    const more = { frequencyPenalty: 0.3, presencePenalty: 0.4, stopSequences: ["END"] };
    await use(runtime, "TEXT_LARGE", { prompt: "Hi", ...params, ...more });
    expect(fake.inputs[0]).toMatchObject({
      ...params,
      frequencyPenalty: 0.3,
      presencePenalty: 0.4,
      stops: ["END"],
      temperature: 0.25,
      topK: 11,
    });
  });

  it("without a limit the engine decides, and defaults are the engine's", async () => {
    const { runtime, fake } = await agent();
    await use(runtime, "TEXT_LARGE", { prompt: "Hi" });
    for (const key of ["maxTokens", "temperature", "topP", "topK"])
      expect(fake.inputs[0]).not.toHaveProperty(key);
  });

  it("frozen parameters are answered", async () => {
    const { runtime } = await agent();
    const params = Object.freeze({
      messages: Object.freeze([Object.freeze({ role: "user", content: "Hi" })]),
    });
    const handler = runtime.getModel("TEXT_LARGE");
    expect(await handler?.(runtime, params)).toMatchObject({ text: "Hello there" });
  });

  it("settings of the context and the load reach the engine", async () => {
    const { runtime, fake } = await agent(
      {},
      {
        LOCAL_CONTEXT_SIZE: "4096",
        LOCAL_KV_TYPE: "q8_0",
        LOCAL_THREADS: "2",
        LOCAL_GPU_LAYERS: "0",
        ELIZA_LOCAL_RAM_HEADROOM_MB: "1",
        LOCAL_INFERENCE_LOG_LEVEL: "error",
      },
    );
    await use(runtime, "TEXT_LARGE", { prompt: "Hi" });
    const memoryHeadroomBytes = 1024 * 1024;
    expect(fake.loads[0]?.options).toMatchObject({ gpuLayers: 0, memoryHeadroomBytes });
    expect(fake.contexts).toEqual([
      { contextSize: 4096, kvTypeK: "q8_0", kvTypeV: "q8_0", threads: 2, memoryHeadroomBytes },
    ]);
    expect(fake.logLevel).toBe("error");
  });
});

describe("a request of the 2.x form", () => {
  it("is answered with an object", async () => {
    const { runtime } = await agent({ finishReason: "length" });
    const messages = [{ role: "user", content: "Hi" }];
    expect(await use(runtime, "TEXT_LARGE", { messages })).toEqual({
      text: "Hello there",
      finishReason: "length",
      usage: {
        promptTokens: PROMPT_TOKENS,
        completionTokens: 2,
        totalTokens: PROMPT_TOKENS + 2,
        cacheReadInputTokens: 3,
      },
    });
  });

  it("a full context is a length limit, too", async () => {
    const { runtime } = await agent({ finishReason: "context" });
    const answer = await use(runtime, "TEXT_LARGE", { messages: [{ role: "user", content: "Hi" }] });
    expect(answer).toMatchObject({ finishReason: "length" });
  });

  it("tools are shown to the model through its template", async () => {
    const { runtime, fake } = await agent();
    await use(runtime, "TEXT_LARGE", { prompt: "Hi", tools: [{ name: "look" }] });
    expect(JSON.parse(fake.chats[0]?.toolsJson ?? "[]")).toEqual([
      { type: "function", function: { name: "look" } },
    ]);
  });

  it("a GBNF grammar reaches the engine", async () => {
    const { runtime, fake } = await agent();
    await use(runtime, "TEXT_LARGE", { prompt: "Hi", grammar: 'root ::= "a"' });
    expect(fake.inputs[0]?.constraint).toEqual({ kind: "gbnf", source: 'root ::= "a"' });
  });
});

describe("streaming", () => {
  const REASONED = [{ reasoning: "Let me think" }, { text: "An" }, { text: "swer" }];

  it("gives the answer without its reasoning, then text, usage and finish reason", async () => {
    const { runtime } = await agent({ pieces: REASONED });
    const stream = (await use(runtime, "TEXT_LARGE", { prompt: "Hi", stream: true })) as Stream;
    const chunks: string[] = [];
    for await (const chunk of stream.textStream) chunks.push(chunk);
    expect(chunks).toEqual(["An", "swer"]);
    expect(await stream.text).toBe("Answer");
    expect(await stream.usage).toMatchObject({ completionTokens: 3 });
    expect(await stream.finishReason).toBe("stop");
  });

  it("the text alone can be awaited", async () => {
    const { runtime } = await agent({ pieces: REASONED });
    const stream = (await use(runtime, "TEXT_LARGE", { prompt: "Hi", stream: true })) as Stream;
    expect(await stream.text).toBe("Answer");
  });

  it("core hands the chunks to the caller's callback and returns the text", async () => {
    const { runtime } = await agent({ pieces: REASONED });
    const chunks: string[] = [];
    const onStreamChunk = (chunk: string) => void chunks.push(chunk);
    expect(await use(runtime, "TEXT_LARGE", { prompt: "Hi", onStreamChunk })).toBe("Answer");
    expect(chunks).toEqual(["An", "swer"]);
  });

  it("the result holds nothing that a call record could walk into", async () => {
    const { runtime, database } = await agent();
    const stream = (await use(runtime, "TEXT_LARGE", { prompt: "Hi", stream: true })) as Stream;
    expect(Object.keys(stream).sort()).toEqual(["finishReason", "text", "textStream", "usage"]);
    for (const field of Object.values(stream)) expect(Object.keys(field)).toEqual([]);
    await stream.text;
    await vi.waitFor(() => expect(database.logs.length).toBeGreaterThan(0));
  });

  it("leaving the loop stops the model", async () => {
    const { runtime, fake } = await agent({ holdAfter: 1 });
    const stream = (await use(runtime, "TEXT_LARGE", { prompt: "Hi", stream: true })) as Stream;
    for await (const _ of stream.textStream) break;
    expect(fake.streams[0]?.cancelled).toBe(true);
    expect(await stream.text).toBe("Hello");
    expect(await stream.finishReason).toBe("cancelled");
  });

  it("core's abort signal stops the model between chunks", async () => {
    const { runtime, fake } = await agent({ holdAfter: 1 });
    const controller = new AbortController();
    const onStreamChunk = async () => controller.abort();
    const context = { onStreamChunk, abortSignal: controller.signal };
    const answer = runWithStreamingContext(context, () => use(runtime, "TEXT_LARGE", { prompt: "Hi" }));
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.streams[0]?.cancelled).toBe(true);
  });

  it("a stream that fails rejects the call and nothing else", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { runtime } = await agent({ streamError: "DECODE_FAILED: no" });
    const answer = use(runtime, "TEXT_LARGE", { prompt: "Hi", onStreamChunk: () => {} });
    await expect(answer).rejects.toMatchObject({ code: "DECODE_FAILED" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe("a signal", () => {
  it.each(["signal", "abortSignal"])("in %s stops a request", async (key) => {
    const { runtime, fake } = await agent({ holdAfter: 1 });
    const controller = new AbortController();
    const answer = use(runtime, "TEXT_LARGE", { prompt: "Hi", [key]: controller.signal });
    await vi.waitFor(() => expect(fake.streams[0]?.read).toBe(1));
    controller.abort();
    await expect(answer).rejects.toMatchObject({ name: "AbortError", code: "CANCELLED" });
    expect(fake.streams[0]?.cancelled).toBe(true);
  });

  it("that has already fired loads nothing", async () => {
    const { runtime, fake } = await agent();
    const answer = use(runtime, "TEXT_LARGE", { prompt: "Hi", signal: AbortSignal.abort() });
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.loads).toHaveLength(0);
  });
});
