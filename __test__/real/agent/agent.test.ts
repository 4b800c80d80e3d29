import { dirname } from "node:path";
import { type IAgentRuntime, ModelType } from "@elizaos/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelPath } from "../../helpers/models.js";
import { startAgent, type TestAgent } from "../../helpers/runtime.js";

/** New for each call: core 1.7 writes into the parameters it is given. */
const question = () => ({ prompt: "What is the capital of France?", temperature: 0, maxTokens: 32 });

let agent: TestAgent;
let runtime: IAgentRuntime;

beforeAll(async () => {
  agent = await startAgent({
    character: { system: "You are a helpful assistant." },
    settings: {
      MODELS_DIR: dirname(modelPath("embedding")),
      LOCAL_LARGE_MODEL: modelPath("chat"),
      LOCAL_EMBEDDING_MODEL: "all-MiniLM-L6-v2-f16",
      LOCAL_CONTEXT_SIZE: "2048",
      LOCAL_THREADS: "2",
    },
  });
  runtime = agent.runtime;
});

afterAll(() => runtime?.stop());

describe("an agent with local models", () => {
  it("knows the dimensions of its embeddings from its start", () => {
    expect(agent.database.state.dimension).toBe(384);
  });

  it("answers Paris, and tells what that cost", async () => {
    agent.events.length = 0;
    expect(await runtime.useModel(ModelType.TEXT_LARGE, question())).toContain("Paris");
    expect(agent.events).toHaveLength(1);
    const tokens = agent.events[0]?.tokens as { prompt: number; completion: number; total: number };
    expect(tokens.completion).toBeGreaterThan(0);
    expect(tokens.completion).toBeLessThanOrEqual(32);
    expect(tokens.total).toBe(tokens.prompt + tokens.completion);
  });

  it("streams the same answer", async () => {
    const chunks: string[] = [];
    const onStreamChunk = (chunk: string) => void chunks.push(chunk);
    const answer = await runtime.useModel(ModelType.TEXT_LARGE, { ...question(), onStreamChunk });
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.join("")).toBe(answer);
    expect(answer).toContain("Paris");
  });

  it("embeds ten texts while it streams", async () => {
    const chunks: string[] = [];
    const onStreamChunk = (chunk: string) => void chunks.push(chunk);
    const params = { prompt: "Tell me a long story.", temperature: 0, maxTokens: 64, onStreamChunk };
    const story = runtime.useModel(ModelType.TEXT_LARGE, params);
    const texts = Array.from({ length: 10 }, (_, index) => `Sentence number ${index}.`);
    const vectors = await Promise.all(
      texts.map((text) => runtime.useModel(ModelType.TEXT_EMBEDDING, { text })),
    );
    for (const vector of vectors) {
      expect(vector).toHaveLength(384);
      expect(vector.some((value) => value !== 0)).toBe(true);
    }
    expect(await story).toBe(chunks.join(""));
  });

  it("counts tokens as its model does", async () => {
    const modelType = ModelType.TEXT_TOKENIZER_ENCODE;
    const tokens = await runtime.useModel(ModelType.TEXT_TOKENIZER_ENCODE, {
      prompt: "Hello, world!",
      modelType,
    });
    expect(tokens.length).toBeGreaterThan(1);
    expect(await runtime.useModel(ModelType.TEXT_TOKENIZER_DECODE, { tokens, modelType })).toBe(
      "Hello, world!",
    );
  });
});
