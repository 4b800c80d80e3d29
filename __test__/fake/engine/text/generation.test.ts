import { afterEach, describe, expect, it, vi } from "vitest";
import { LocalModel } from "../../../../ts/engine/model.js";
import type { TextGeneration } from "../../../../ts/engine/text/generation.js";
import type { Piece } from "../../../../ts/engine/text/types.js";
import { setNativeForTests } from "../../../../ts/native/addon.js";
import { type Fake, useFake } from "../../../helpers/fake-native.js";
import type { Script } from "../../../helpers/fake-script.js";
import { CACHED_TOKENS, PROMPT_TOKENS } from "../../../helpers/fake-stream.js";

afterEach(() => setNativeForTests(undefined));

const PROMPT = { prompt: "Once" };

async function model(script: Script = {}): Promise<{ fake: Fake; model: LocalModel }> {
  const fake = useFake(script);
  return { fake, model: await LocalModel.load("model.gguf") };
}

async function pieces(generation: TextGeneration): Promise<Piece[]> {
  const all: Piece[] = [];
  for await (const piece of generation) all.push(piece);
  return all;
}

describe("reading a generation", () => {
  it("gives the pieces in order and then the whole", async () => {
    const { model: loaded } = await model({
      pieces: [{ reasoning: "hm" }, { text: "A" }, { text: "B", tokens: 2 }],
    });
    const generation = loaded.generate(PROMPT);
    expect(await pieces(generation)).toEqual([
      { text: "", reasoning: "hm", tokens: 1 },
      { text: "A", reasoning: "", tokens: 1 },
      { text: "B", reasoning: "", tokens: 2 },
    ]);
    expect(await generation.result).toMatchObject({
      text: "AB",
      reasoning: "hm",
      finishReason: "stop",
      usage: { promptTokens: PROMPT_TOKENS, cachedPromptTokens: CACHED_TOKENS, completionTokens: 4 },
    });
    expect(generation.tokens).toBe(4);
  });

  it("awaiting the result alone reads to the end, and the pieces are still there", async () => {
    const { model: loaded } = await model();
    const generation = loaded.generate(PROMPT);
    expect((await generation.result).text).toBe("Hello there");
    expect((await pieces(generation)).map((piece) => piece.text)).toEqual(["Hello", " there"]);
  });

  it("without a reader the model is not asked for more", async () => {
    const { fake, model: loaded } = await model();
    const generation = loaded.generate(PROMPT);
    await generation.started;
    await new Promise((resolve) => setImmediate(resolve));
    expect(fake.streams[0]?.read).toBe(0);
  });

  it("two readers share the pieces", async () => {
    const texts = ["a", "b", "c", "d"];
    const { model: loaded } = await model({ pieces: texts.map((text) => ({ text })) });
    const generation = loaded.generate(PROMPT);
    const [one, two] = await Promise.all([pieces(generation), pieces(generation)]);
    expect([...one, ...two].map((piece) => piece.text).sort()).toEqual(texts);
  });

  it("requests made at once on one iterator are answered in order", async () => {
    const { model: loaded } = await model();
    const iterator = loaded.generate(PROMPT)[Symbol.asyncIterator]();
    const [first, second, end] = await Promise.all([iterator.next(), iterator.next(), iterator.next()]);
    expect([first.value?.text, second.value?.text, end.done]).toEqual(["Hello", " there", true]);
  });
});

describe("leaving a generation", () => {
  it("leaving the loop stops the model and keeps the text so far", async () => {
    const { fake, model: loaded } = await model({ holdAfter: 1 });
    const generation = loaded.generate(PROMPT);
    for await (const piece of generation) {
      expect(piece.text).toBe("Hello");
      break;
    }
    expect(fake.streams[0]?.cancelled).toBe(true);
    expect(await generation.result).toMatchObject({ text: "Hello", finishReason: "cancelled" });
    expect(generation.usage?.completionTokens).toBe(1);
  });

  it("return() stops the model even while a read is waiting for it", async () => {
    const { fake, model: loaded } = await model({ holdAfter: 0 });
    const iterator = loaded.generate(PROMPT)[Symbol.asyncIterator]();
    const waiting = iterator.next();
    await vi.waitFor(() => expect(fake.streams).toHaveLength(1));
    await iterator.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  it("disposing stops the model", async () => {
    const { fake, model: loaded } = await model({ holdAfter: 0 });
    {
      await using generation = loaded.generate(PROMPT);
      await generation.started;
    }
    expect(fake.streams[0]?.cancelled).toBe(true);
  });

  it("cancelling twice, or after the end, does nothing", async () => {
    const { fake, model: loaded } = await model();
    const generation = loaded.generate(PROMPT);
    await generation.result;
    await Promise.all([generation.cancel(), generation.cancel()]);
    expect(fake.streams[0]?.cancelled).toBe(false);
    expect((await generation.result).finishReason).toBe("stop");
  });

  it("cancelling before the request reached the model keeps it from running", async () => {
    const { fake, model: loaded } = await model();
    const generation = loaded.generate(PROMPT);
    await generation.cancel();
    await expect(generation.result).rejects.toMatchObject({ name: "AbortError" });
    await new Promise((resolve) => setImmediate(resolve));
    expect(fake.streams.every((stream) => stream.cancelled)).toBe(true);
  });
});

describe("an abort signal", () => {
  it("that has already fired keeps the addon untouched", async () => {
    const { fake, model: loaded } = await model();
    const generation = loaded.generate(PROMPT, { signal: AbortSignal.abort("no") });
    await expect(generation.result).rejects.toMatchObject({
      name: "AbortError",
      code: "CANCELLED",
      cause: "no",
    });
    await expect(pieces(generation)).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.contexts).toHaveLength(0);
    expect(fake.inputs).toHaveLength(0);
  });

  it("stops a running generation; reader and result reject, usage remains", async () => {
    const { fake, model: loaded } = await model({ holdAfter: 1 });
    const controller = new AbortController();
    const generation = loaded.generate(PROMPT, { signal: controller.signal });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const piece of generation) {
        seen.push(piece.text);
        controller.abort();
      }
    })();
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
    await expect(generation.result).rejects.toMatchObject({ name: "AbortError" });
    expect(seen).toEqual(["Hello"]);
    expect(fake.streams[0]?.cancelled).toBe(true);
    expect(generation.usage?.completionTokens).toBe(1);
  });

  it("discards what was ready when it fired", async () => {
    const { fake, model: loaded } = await model({ holdAfter: 2, latePiece: { text: "!" } });
    const controller = new AbortController();
    const generation = loaded.generate(PROMPT, { signal: controller.signal });
    const result = expect(generation.result).rejects.toMatchObject({ name: "AbortError" });
    await vi.waitFor(() => expect(fake.streams[0]?.read).toBe(2));
    controller.abort();
    const seen: Piece[] = [];
    const reading = async () => {
      for await (const piece of generation) seen.push(piece);
    };
    await expect(reading()).rejects.toMatchObject({ name: "AbortError" });
    await result;
    expect(seen).toEqual([]);
    expect(generation.usage?.completionTokens).toBe(3);
  });

  it("outranks a reader that is leaving", async () => {
    const { model: loaded } = await model({ holdAfter: 1 });
    const controller = new AbortController();
    const generation = loaded.generate(PROMPT, { signal: controller.signal });
    const iterator = generation[Symbol.asyncIterator]();
    await iterator.next();
    const left = iterator.return?.();
    controller.abort();
    expect(await left).toEqual({ done: true, value: undefined });
    await expect(generation.result).rejects.toMatchObject({ name: "AbortError" });
    await expect(pieces(generation)).rejects.toMatchObject({ name: "AbortError" });
  });

  it("that fires after the end takes nothing back", async () => {
    const { model: loaded } = await model();
    const controller = new AbortController();
    const generation = loaded.generate(PROMPT, { signal: controller.signal });
    await generation.result;
    controller.abort();
    expect((await pieces(generation)).map((piece) => piece.text)).toEqual(["Hello", " there"]);
    expect((await generation.result).finishReason).toBe("stop");
  });

  it("settles a generation that nobody reads", async () => {
    const { model: loaded } = await model({ holdAfter: 0 });
    const controller = new AbortController();
    const generation = loaded.generate(PROMPT, { signal: controller.signal });
    await generation.started;
    controller.abort();
    await generation.settled;
    expect(generation.usage).toMatchObject({ completionTokens: 0, promptTokens: PROMPT_TOKENS });
    await expect(generation.result).rejects.toMatchObject({ name: "AbortError" });
  });

  it("leaves no listener behind", async () => {
    const { model: loaded } = await model();
    const controller = new AbortController();
    const remove = vi.spyOn(controller.signal, "removeEventListener");
    await loaded.generate(PROMPT, { signal: controller.signal }).result;
    expect(remove).toHaveBeenCalledWith("abort", expect.any(Function));
  });
});

describe("a generation that fails", () => {
  it("what the addon refuses rejects started, result and the loop with the same error", async () => {
    const { model: loaded } = await model({ generateError: "INVALID_INPUT: topP is out of range" });
    const generation = loaded.generate({ ...PROMPT, topP: 7 });
    const refusal = { code: "INVALID_INPUT", reason: "invalid_input", message: "topP is out of range" };
    await expect(generation.started).rejects.toMatchObject(refusal);
    await expect(generation.result).rejects.toMatchObject(refusal);
    await expect(pieces(generation)).rejects.toMatchObject(refusal);
  });

  it("a failure in the middle comes after the pieces that were read", async () => {
    const { model: loaded } = await model({ streamError: "DECODE_FAILED: no" });
    const generation = loaded.generate(PROMPT);
    await expect(generation.result).rejects.toMatchObject({ code: "DECODE_FAILED" });
    const seen: string[] = [];
    const reading = async () => {
      for await (const piece of generation) seen.push(piece.text);
    };
    await expect(reading()).rejects.toMatchObject({ code: "DECODE_FAILED" });
    expect(seen).toEqual(["Hello", " there"]);
  });

  it("that nobody listens to does not raise an unhandled rejection", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { model: loaded } = await model({ generateError: "INVALID_INPUT: no" });
    loaded.generate(PROMPT);
    await pieces(loaded.generate(PROMPT)).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it("closing the model while it generates is a failure, not a short answer", async () => {
    const { model: loaded } = await model({ holdAfter: 1 });
    const generation = loaded.generate(PROMPT);
    await generation.started;
    const result = generation.result;
    await loaded.close();
    await expect(result).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it.each([{}, { prompt: "a", messages: [{ role: "user" as const, content: "b" }] }, { messages: [] }])(
    "%j is not a request",
    async (request) => {
      const { model: loaded } = await model();
      expect(() => loaded.generate(request)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
    },
  );
});
