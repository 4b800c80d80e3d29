import { afterEach, describe, expect, it } from "vitest";
import { LocalModel } from "../../ts/engine/model.js";
import type { Piece } from "../../ts/engine/text/types.js";
import type { Script } from "./fake-script.js";

/** What an addon must be told beforehand, so that it does what a test asks for; the real one needs no telling. */
type Prepare = (script: Script) => void;

const TOKENS = 8;
const COUNTED = { prompt: "a", ignoreEos: true, temperature: 0, maxTokens: TOKENS };
const ENDLESS = { ...COUNTED, maxTokens: 400 };
const eight = Array.from({ length: TOKENS }, () => ({ text: "x" }));

const keysOf = (value: object) => Object.keys(value).sort();

/** Fields that every usage has, whatever the request. */
const USAGE = [
  ...["acceptedTokens", "cachedPromptTokens", "completionTokens", "decodeMs", "decodeTokensPerSecond"],
  ...["draftWindows", "draftedTokens", "forcedTokens", "plainTokensPerSecond", "prefillMs"],
  ...["prefillTokensPerSecond", "promptTokens", "queueMs", "reasoningTokens", "refusedTokens", "seed"],
  ...["speculativeSpeedUp", "timeToFirstTokenMs"],
];

/** What callers rely on, for the addon that was built and for its stand-in, so that the stand-in does not drift. */
export function keepsTheContract(path: () => string, prepare: Prepare): void {
  let model: LocalModel;
  const load = async (script: Script): Promise<LocalModel> => {
    prepare(script);
    model = await LocalModel.load(path(), { context: { contextSize: 512, threads: 1 } });
    return model;
  };
  afterEach(() => model?.close());

  describe("a generation", () => {
    it("streams pieces that add up to the result, and ends at maxTokens", async () => {
      await load({ pieces: eight, finishReason: "length" });
      const generation = model.generate(COUNTED);
      const pieces: Piece[] = [];
      for await (const piece of generation) pieces.push(piece);
      const { text, reasoning, finishReason, usage } = await generation.result;
      expect(pieces.length).toBeGreaterThan(0);
      expect(pieces.map((piece) => piece.text).join("")).toBe(text);
      expect(pieces.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(TOKENS);
      expect({ reasoning, finishReason }).toEqual({ reasoning: "", finishReason: "length" });
      expect(usage).toMatchObject({ completionTokens: TOKENS, promptTokens: expect.any(Number) });
      expect(keysOf(usage)).toEqual(USAGE);
    });

    it("that its reader leaves ends as cancelled, with what came until then", async () => {
      await load({ pieces: eight, holdAfter: 1 });
      const generation = model.generate(ENDLESS);
      for await (const _ of generation) break;
      const { finishReason, usage } = await generation.result;
      expect(finishReason).toBe("cancelled");
      expect(usage.completionTokens).toBeGreaterThan(0);
    });

    it("that a signal stops rejects with the signal's reason", async () => {
      await load({ pieces: eight, holdAfter: 1 });
      const controller = new AbortController();
      const generation = model.generate(ENDLESS, { signal: controller.signal });
      await generation.started;
      controller.abort("enough");
      const error = { name: "AbortError", code: "CANCELLED", cause: "enough" };
      await expect(generation.result).rejects.toMatchObject(error);
    });

    it("with an option out of range rejects with the addon's reason, and the next one runs", async () => {
      const refusal = "INVALID_INPUT: temperature is -1; allowed is 0 to 100";
      await load({
        pieces: eight,
        finishReason: "length",
        refuse: ({ temperature = 0 }) => temperature < 0 && refusal,
      });
      const refused = model.generate({ ...COUNTED, temperature: -1 }).result;
      const error = {
        code: "INVALID_INPUT",
        reason: "invalid_input",
        message: expect.stringContaining("temperature"),
      };
      await expect(refused).rejects.toMatchObject(error);
      expect((await model.generate(COUNTED).result).finishReason).toBe("length");
    });

    it("ends when its model is closed, and closing twice is harmless", async () => {
      await load({ pieces: eight, holdAfter: 1 });
      const generation = model.generate(ENDLESS);
      await generation.started;
      const code = expect.stringMatching(/^(CANCELLED|CLOSED)$/);
      const ended = expect(generation.result).rejects.toMatchObject({ code });
      await Promise.all([model.close(), model.close()]);
      await ended;
      expect(() => model.generate(COUNTED)).toThrow(expect.objectContaining({ code: "CLOSED" }));
    });
  });

  it("a file that is not there is MODEL_NOT_FOUND", async () => {
    prepare({ loadError: "MODEL_NOT_FOUND: there is no file" });
    await expect(LocalModel.load(`${path()}.missing`)).rejects.toMatchObject({ code: "MODEL_NOT_FOUND" });
  });

  it("tokens become the text again, and are counted", async () => {
    await load({});
    const tokens = await model.tokenize("one two");
    expect(tokens).toBeInstanceOf(Uint32Array);
    expect((await model.detokenize(tokens)).trim()).toBe("one two");
    expect(await model.countTokens("one two")).toBe(tokens.length);
  });

  it("a context and a header say at least what the stand-in's say", async () => {
    await load({});
    const context = await model.context();
    expect(keysOf(context.info)).toEqual(expect.arrayContaining(INFO));
    expect(keysOf(context.metrics())).toEqual(expect.arrayContaining(METRICS));
    expect(keysOf(model.header)).toEqual(expect.arrayContaining(HEADER));
  });
}

const INFO = [
  "batchSize",
  "contextSize",
  "kvBytes",
  "kvTypeK",
  "kvTypeV",
  "microBatchSize",
  "threads",
  "trainingContext",
];
const METRICS = [
  "cacheBytes",
  "cacheEntries",
  "contextSize",
  "contextUsed",
  "hits",
  "refused",
  "running",
  "started",
];
const HEADER = [
  "architecture",
  "contextLength",
  "embeddingLength",
  "fileBytes",
  "kind",
  "parameterCount",
  "path",
];
