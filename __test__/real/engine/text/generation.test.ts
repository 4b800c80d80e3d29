import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LocalModel, type Piece } from "../../../../ts/index.js";
import { modelPath } from "../../../helpers/models.js";

let model: LocalModel;

beforeAll(async () => {
  model = await LocalModel.load(modelPath("chat"), { context: { contextSize: 2048, threads: 2 } });
});

afterAll(() => model?.close());

// The system text matters: with the one its template inserts, this small model wanders off.
const QUESTION = {
  messages: [
    { role: "system", content: "You are a helpful assistant." },
    { role: "user", content: "What is the capital of France?" },
  ],
} as const;
const STORY = { prompt: "Once upon a time", temperature: 0 };

describe("an answer", () => {
  it("to the capital of France is Paris", async () => {
    const { text, finishReason } = await model.generate({ ...QUESTION, temperature: 0, maxTokens: 32 })
      .result;
    expect(text).toContain("Paris");
    expect(finishReason).toBe("stop");
  });

  it("is the same text in pieces and as a whole, and its tokens are counted", async () => {
    const generation = model.generate({ ...STORY, maxTokens: 24 });
    const pieces: Piece[] = [];
    for await (const piece of generation) pieces.push(piece);
    const { text, finishReason, usage } = await generation.result;
    expect(pieces.map((piece) => piece.text).join("")).toBe(text);
    expect(finishReason).toBe("length");
    expect(usage.completionTokens).toBe(24);
    expect(usage.promptTokens).toBe(await model.countTokens(STORY.prompt, { bos: true }));
  });

  it("with the same seed is the same, with another one another", async () => {
    const tell = async (seed: number) =>
      (await model.generate({ prompt: "The", temperature: 1.5, maxTokens: 24, seed }).result).text;
    expect(await tell(7)).toBe(await tell(7));
    expect(await tell(7)).not.toBe(await tell(8));
  });

  it("ends before a stop sequence", async () => {
    const whole = (await model.generate({ ...STORY, maxTokens: 40 }).result).text;
    const stop = whole.slice(10, 16);
    const result = await model.generate({ ...STORY, maxTokens: 40, stop: [stop] }).result;
    expect(result).toMatchObject({ finishReason: "stop", stopString: stop });
    expect(result.text).toBe(whole.slice(0, whole.indexOf(stop)));
  });

  it("keeps to a grammar", async () => {
    const grammar = 'root ::= "yes" | "no"';
    const { text } = await model.generate({ ...QUESTION, grammar, temperature: 0, maxTokens: 8 }).result;
    expect(["yes", "no"]).toContain(text);
  });

  it("reports log probabilities when asked", async () => {
    const { logprobs } = await model.generate({ ...STORY, maxTokens: 3, logprobs: 2 }).result;
    expect(logprobs).toHaveLength(3);
    for (const { logprob, top } of logprobs ?? []) {
      expect(logprob).toBeLessThanOrEqual(0);
      expect(top).toHaveLength(2);
      expect(top[0]?.logprob).toBeGreaterThanOrEqual(top[1]?.logprob ?? 0);
    }
  });

  it("comes to four requests at once", async () => {
    const ask = () => model.generate({ ...QUESTION, temperature: 0, maxTokens: 32 }).result;
    const answers = await Promise.all([ask(), ask(), ask(), ask()]);
    for (const { text } of answers) expect(text).toContain("Paris");
  });
});

describe("stopping", () => {
  it("leaving the loop stops the producer and leaves the context usable", async () => {
    const generation = model.generate({ ...STORY, maxTokens: 1000, ignoreEos: true });
    for await (const _ of generation) break;
    const { finishReason, usage } = await generation.result;
    expect(finishReason).toBe("cancelled");
    expect(usage.completionTokens).toBeLessThan(1000);
    expect((await model.generate({ ...QUESTION, temperature: 0, maxTokens: 32 }).result).text).toContain(
      "Paris",
    );
  });

  it("a signal interrupts the reading of a long prompt", async () => {
    const controller = new AbortController();
    const prompt = "The quick brown fox jumps over the lazy dog. ".repeat(150);
    const generation = model.generate({ prompt, maxTokens: 8 }, controller);
    await generation.started;
    controller.abort();
    await expect(generation.result).rejects.toMatchObject({ name: "AbortError", code: "CANCELLED" });
    expect(generation.tokens).toBe(0);
  });
});

describe("refusals", () => {
  it.each([
    ["a negative temperature", { prompt: "a", temperature: -1 }, "INVALID_INPUT"],
    ["a share above 1", { prompt: "a", topP: 2 }, "INVALID_INPUT"],
    ["no tokens", { prompt: "a", maxTokens: 0 }, "INVALID_INPUT"],
    ["a number in words", { prompt: "a", maxTokens: "5" as unknown as number }, "INVALID_INPUT"],
    ["a seed without end", { prompt: "a", seed: 10n as unknown as number }, "INVALID_INPUT"],
    ["a bias without a value", { prompt: "a", logitBias: [{ token: 1 }] as never }, "INVALID_INPUT"],
    ["a broken grammar", { prompt: "a", grammar: "root ::= (" }, "GRAMMAR_INVALID"],
    ["a prompt longer than the context", { prompt: "word ".repeat(5000) }, "CONTEXT_OVERFLOW"],
  ])("%s", async (_, request, code) => {
    await expect(model.generate(request).result).rejects.toMatchObject({ code });
  });
});

describe("tokens", () => {
  it.each(["Hello, world!", "Grüße, 世界 👩‍🚀", ""])(
    "%j survives the way to tokens and back",
    async (text) => {
      const tokens = await model.tokenize(text);
      expect(await model.detokenize(tokens)).toBe(text);
      expect(await model.countTokens(text)).toBe(tokens.length);
    },
  );
});
