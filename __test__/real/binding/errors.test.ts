import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
  ContextOptions,
  EmbedderOptions,
  GenerateInput,
  LoadOptions,
  NativeContext,
  NativeModel,
} from "../../../index.js";
import { addon, CAPITAL, generate, load, PATHS, rejection, SMALL } from "./support/addon.js";

let model: NativeModel;
let embedding: NativeModel;
let context: NativeContext;

beforeAll(async () => {
  model = await load("tiny");
  embedding = await load("embedding");
  context = await model.openContext(SMALL);
});

afterAll(async () => {
  await embedding?.close();
  await model?.close();
});

/** A value of the wrong type, as plain JavaScript may pass it. */
const wrong = <T>(value: unknown): T => value as T;

describe("an option of a generation", () => {
  it.each<[string, Partial<GenerateInput>]>([
    ["maxTokens", { maxTokens: 0 }],
    ["maxTokens", { maxTokens: -1 }],
    ["maxTokens", { maxTokens: 1.5 }],
    ["maxTokens", { maxTokens: Number.NaN }],
    ["maxTokens", { maxTokens: Number.POSITIVE_INFINITY }],
    ["maxTokens", { maxTokens: 2 ** 32 + 4 }],
    ["minTokens", { minTokens: 9 }],
    ["temperature", { temperature: Number.NaN }],
    ["temperature", { temperature: -0.1 }],
    ["temperature", { temperature: 1e300 }],
    ["topP", { topP: 1.1 }],
    ["topP", { topP: -1 }],
    ["topK", { topK: 1.5 }],
    ["topK", { topK: -1 }],
    ["topK", { topK: 1e10 }],
    ["minP", { minP: 2 }],
    ["typicalP", { typicalP: Number.NaN }],
    ["repetitionPenalty", { repetitionPenalty: 0 }],
    ["frequencyPenalty", { frequencyPenalty: 3 }],
    ["presencePenalty", { presencePenalty: -3 }],
    ["penaltyWindow", { penaltyWindow: 2 ** 30 }],
    ["seed", { seed: -1 }],
    ["seed", { seed: 0.5 }],
    ["seed", { seed: 2 ** 32 }],
    ["dryMultiplier", { dryMultiplier: -1 }],
    ["dryBase", { dryBase: 0 }],
    ["dryWindow", { dryWindow: -2 }],
    ["drySequenceBreakers", { drySequenceBreakers: [""] }],
    ["xtcProbability", { xtcProbability: 2 }],
    ["xtcThreshold", { xtcThreshold: -1 }],
    ["mirostat", { mirostat: wrong(3) }],
    ["mirostat", { mirostat: wrong(258) }],
    ["mirostatTau", { mirostatTau: -1 }],
    ["mirostatEta", { mirostatEta: 2 }],
    ["logprobs", { logprobs: 21 }],
    ["stops", { stops: Array.from({ length: 65 }, () => "x") }],
    ["stops", { stops: ["x".repeat(2000)] }],
    ["grammar", { grammar: "" }],
    ["logitBias", { logitBias: [{ token: -1, bias: 1 }] }],
    ["logitBias", { logitBias: [{ token: 1.5, bias: 1 }] }],
    ["logitBias", { logitBias: [{ token: 32_000, bias: 1 }] }],
    ["logitBias", { logitBias: [{ token: 1, bias: Number.NaN }] }],
  ])("out of range is refused at once and named: %s %o", async (name, options) => {
    const message = await rejection("INVALID_INPUT", () =>
      context.generate({ prompt: "a", maxTokens: 4, ...options }),
    );
    expect(message).toContain(name);
  });

  it.each<[string, unknown]>([
    ["maxTokens", "5"],
    ["maxTokens", null],
    ["seed", 10n],
    ["temperature", {}],
    ["stops", "x"],
    ["stops", [1]],
    ["prompt", 5],
    ["grammar", 5],
    ["parseSpecial", "yes"],
    ["logitBias", [{ token: 1 }]],
    ["chat", { prompt: "a" }],
    ["prefill", 5],
    ["promptTokens", [1, 2]],
    ["promptTokens", new Int32Array([1, 2])],
  ])("of the wrong type is an error that names it, not a crash: %s", (name, value) => {
    const given = wrong<GenerateInput>({
      ...(name === "promptTokens" ? {} : { prompt: "a" }),
      [name]: value,
    });
    expect(() => context.generate(given)).toThrow(name);
  });

  it("that is no object is an error", () => {
    for (const value of [undefined, null, 5, "prompt"]) {
      expect(() => context.generate(wrong(value))).toThrow();
    }
  });

  it("that the grammar parser refuses ends the stream with the reason", async () => {
    await rejection("GRAMMAR_INVALID", () => generate(context, { prompt: "a", grammar: "root ::= (" }));
  });
});

describe("a prompt", () => {
  it.each<[string, GenerateInput]>([
    ["missing", {}],
    ["given twice", { prompt: "a", promptTokens: new Uint32Array([1]) }],
    ["of no tokens", { promptTokens: new Uint32Array() }],
    ["with a token beyond the vocabulary", { promptTokens: new Uint32Array([1, 32_000]) }],
    ["with a token beyond every vocabulary", { promptTokens: new Uint32Array([2 ** 32 - 1]) }],
  ])("%s is refused", async (_, input) => {
    await rejection("INVALID_INPUT", () => generate(context, { maxTokens: 2, ...input }));
  });

  it("longer than the context is refused with both numbers", async () => {
    const prompt = "word ".repeat(900);
    const tokens = await model.countTokens(prompt, { bos: true });
    const message = await rejection("CONTEXT_OVERFLOW", () => generate(context, { prompt }));
    expect(message).toContain(`${tokens} tokens`);
    expect(message).toContain("512");
  });

  it("that fills the context to its last token is generated from", async () => {
    const promptTokens = new Uint32Array(511).fill(7);
    const { done } = await generate(context, { promptTokens, ignoreEos: true });
    expect(done).toMatchObject({ finishReason: "context", usage: { promptTokens: 511 } });
    await rejection("CONTEXT_OVERFLOW", () =>
      generate(context, { promptTokens: new Uint32Array(512).fill(7) }),
    );
  });

  it("with NUL characters, lone surrogates and emoji is read whole", async () => {
    for (const prompt of ["a\0b", "a\ud800b", "👩‍👩‍👧‍👦", "\u202eabc"]) {
      const { done } = await generate(context, { prompt, maxTokens: 2, ignoreEos: true });
      expect(done.usage.promptTokens).toBe(await model.countTokens(prompt, { bos: true }));
    }
  });
});

describe("after an error", () => {
  it("the context goes on and its messages do not repeat older errors", async () => {
    await rejection("GRAMMAR_INVALID", () => generate(context, { prompt: "a", grammar: "root ::= (" }));
    const message = await rejection("CONTEXT_OVERFLOW", () =>
      generate(context, { prompt: "word ".repeat(900) }),
    );
    expect(message).not.toContain("grammar");
    const { done } = await generate(context, { prompt: "a", maxTokens: 3, ignoreEos: true });
    expect(done.usage.completionTokens).toBe(3);
  });
});

describe("an option", () => {
  it.each<[string, ContextOptions]>([
    ["contextSize", { contextSize: -1 }],
    ["contextSize", { contextSize: 512.5 }],
    ["contextSize", { contextSize: Number.NaN }],
    ["contextSize", { contextSize: 2 ** 32 + 512 }],
    ["contextSize", { contextSize: 1e9 }],
    ["threads", { threads: 0 }],
    ["threads", { threads: 513 }],
    ["batchSize", { batchSize: 0 }],
    ["microBatchSize", { microBatchSize: -1 }],
    ["memoryHeadroomBytes", { memoryHeadroomBytes: -1 }],
    ["q9", { kvTypeK: "q9" }],
    ["flashAttention", { flashAttention: wrong("maybe") }],
    ["kvTypeV", { kvTypeV: "q4_0", flashAttention: "off" }],
  ])("of a context out of range is refused: %s %o", async (name, options) => {
    const message = await rejection("INVALID_INPUT", () => model.openContext({ ...SMALL, ...options }));
    expect(message).toContain(name);
  });

  it.each<[string, EmbedderOptions]>([
    ["contextSize", { contextSize: 0 }],
    ["contextSize", { contextSize: 513 }],
    ["contextSize", { contextSize: 1.5 }],
    ["threads", { threads: 0 }],
    ["threads", { threads: 1e6 }],
    ["pooling", { pooling: wrong("max") }],
  ])("of an embedder out of range is refused: %s %o", async (name, options) => {
    expect(await rejection("INVALID_INPUT", () => embedding.openEmbedder(options))).toContain(name);
  });

  it.each<[string, LoadOptions]>([
    ["gpuLayers", { gpuLayers: -2 }],
    ["gpuLayers", { gpuLayers: 0.5 }],
    ["gpuLayers", { gpuLayers: 2 ** 32 }],
    ["memoryHeadroomBytes", { memoryHeadroomBytes: -1 }],
    ["memoryHeadroomBytes", { memoryHeadroomBytes: Number.NaN }],
  ])("of a load out of range is refused: %s %o", async (name, options) => {
    const message = await rejection("INVALID_INPUT", () => addon.loadModel(PATHS.tiny, options).result());
    expect(message).toContain(name);
  });

  it("that leaves no memory is refused before anything is allocated", async () => {
    const memoryHeadroomBytes = 2 ** 50;
    await rejection("OUT_OF_MEMORY", () => addon.loadModel(PATHS.tiny, { memoryHeadroomBytes }).result());
    await rejection("OUT_OF_MEMORY", () => model.openContext({ ...SMALL, memoryHeadroomBytes }));
  });
});

describe("tokens and templates", () => {
  it("tokens beyond the vocabulary are refused", async () => {
    await rejection("INVALID_INPUT", () => model.detokenize(new Uint32Array([32_000]), {}));
    await rejection("INVALID_INPUT", () => model.detokenize(new Uint32Array([2 ** 32 - 1]), {}));
  });

  it("messages that are no JSON and templates that do not parse are refused", async () => {
    const messagesJson = JSON.stringify([{ role: "user", content: "x" }]);
    await rejection("INVALID_INPUT", () => model.renderChat({ messagesJson: "{" }));
    await rejection("TEMPLATE_INVALID", () => model.renderChat({ messagesJson, template: "{% if" }));
  });

  it("text becomes tokens and back", async () => {
    const chat = await load("chat");
    const text = "Grüße, 世界! 👋 $3.50\n\ttab";
    expect(await chat.detokenize(await chat.tokenize(text, {}), {})).toBe(text);
    const { prompt } = await chat.renderChat({
      messagesJson: JSON.stringify([{ role: "user", content: "What is the capital of France?" }]),
    });
    expect(prompt.endsWith(CAPITAL.prompt?.slice(-80) ?? "?")).toBe(true);
    await chat.close();
  });

  it("a request continues one of a prompt, tokens and a rendered chat, and tokens take no prefill", async () => {
    const chat = await model.renderChat({ messagesJson: JSON.stringify([{ role: "user", content: "x" }]) });
    const promptTokens = new Uint32Array([1]);
    const several = [{}, { chat, prompt: "a" }, { chat, promptTokens }, { prompt: "a", promptTokens }];
    for (const input of [...several, { promptTokens, prefill: "a" }]) {
      await rejection("INVALID_INPUT", () => context.generate(input));
    }
    const { done } = await generate(context, { chat, maxTokens: 2 });
    const written = await generate(context, { prompt: chat.prompt, parseSpecial: true, maxTokens: 2 });
    expect(done.usage.promptTokens).toBe(written.done.usage.promptTokens);
  });

  it("a rendered chat says where reasoning begins, unless its answer has begun", async () => {
    const messagesJson = JSON.stringify([{ role: "user", content: "x" }]);
    const template = "{{ messages[0].content }}{% if add_generation_prompt %}<think>{% endif %}";
    const chat = await model.renderChat({ messagesJson, template });
    expect(chat.prompt).toBe("x<think>");
    const options = { temperature: 0, ignoreEos: true, maxTokens: 8 };
    const piece = async (prefill: string) => {
      const { chunks, text } = await generate(context, { chat, prefill, ...options });
      return { text, reasoning: chunks.map(({ reasoning }) => reasoning).join("") };
    };
    const [reasoned, answered] = [await piece(""), await piece("a")];
    expect(reasoned).toEqual({ text: "", reasoning: expect.stringMatching(/./) });
    expect(answered).toEqual({ text: expect.stringMatching(/./), reasoning: "" });
  });
});
