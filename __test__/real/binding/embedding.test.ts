import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Embeddings, EmbedOptions, NativeEmbedder, NativeModel } from "../../../index.js";
import { load, rejection } from "./support/addon.js";

let model: NativeModel;
let embedder: NativeEmbedder;

beforeAll(async () => {
  model = await load("embedding");
  embedder = await model.openEmbedder({ threads: 2 });
});

afterAll(() => model?.close());

const embed = (texts: string[], options: EmbedOptions = {}): Promise<Embeddings> =>
  embedder.embed(texts, options).result();

const first = (embeddings: Embeddings): Float32Array => {
  const [vector] = embeddings.vectors;
  if (vector === undefined) throw new Error("no vector");
  return vector;
};

const dot = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? Number.NaN), 0);

const one = async (text: string, options?: EmbedOptions) => first(await embed([text], options));

describe("vectors", () => {
  it("have length 1 and tell near from far", async () => {
    const { vectors } = await embed(["a cat sleeps", "a kitten is asleep", "stock markets fell"]);
    const [cat, kitten, stocks] = vectors as [Float32Array, Float32Array, Float32Array];
    for (const vector of vectors) expect(dot(vector, vector)).toBeCloseTo(1, 4);
    expect(dot(cat, kitten)).toBeGreaterThan(dot(cat, stocks) + 0.3);
  });

  it("of 100 concurrent calls are those of one call each, in order", async () => {
    const texts = Array.from(
      { length: 100 },
      (_, index) => `number ${index} ${"and more ".repeat(index % 7)}`,
    );
    const together = await Promise.all(texts.map((text) => embed([text])));
    for (const index of [0, 17, 50, 99]) {
      const alone = await one(texts[index] as string);
      expect(dot(first(together[index] as Embeddings), alone)).toBeGreaterThan(0.999);
    }
    const [a, b] = [together[3], together[10]].map((embeddings) => first(embeddings as Embeddings));
    expect(dot(a as Float32Array, b as Float32Array)).toBeLessThan(0.999);
  });

  it("are as many as the texts, none for none", async () => {
    expect((await embed([])).vectors).toEqual([]);
    expect((await embed(Array.from({ length: 150 }, () => "again"))).vectors).toHaveLength(150);
  });

  it("keep the leading dimensions that are asked for, again with length 1", async () => {
    const [whole, short] = [await one("some text"), await one("some text", { dimensions: 64 })];
    expect([whole.length, short.length]).toEqual([384, 64]);
    expect(dot(short, short)).toBeCloseTo(1, 4);
    expect(dot(whole.slice(0, 64), short)).toBeCloseTo(Math.hypot(...whole.slice(0, 64)), 4);
  });

  it("are the model's own numbers without normalising", async () => {
    const raw = await one("some text", { normalize: false });
    const length = Math.hypot(...raw);
    expect(length).not.toBeCloseTo(1, 2);
    expect(dot(raw, await one("some text"))).toBeCloseTo(length, 3);
  });
});

describe("a text that is too long", () => {
  const beginning = "the cat sleeps on the sofa. ";
  const end = "stock markets fell again. ";
  const long = beginning.repeat(80) + end.repeat(80);

  it("keeps its beginning, its end, or is refused with both numbers", async () => {
    const head = await embed([long], { truncate: "head" });
    const tail = await embed([long], { truncate: "tail" });
    expect([head.truncated, head.tokens]).toEqual([1, 512]);
    const [cats, stocks] = [await one(beginning.repeat(20)), await one(end.repeat(20))];
    expect(dot(first(head), cats)).toBeGreaterThan(dot(first(head), stocks));
    expect(dot(first(tail), stocks)).toBeGreaterThan(dot(first(tail), cats));
    const message = await rejection("CONTEXT_OVERFLOW", () => embed([long], { truncate: "error" }));
    expect(message).toMatch(/\d{3,} tokens, the limit is 512/);
  });

  it("of exactly the limit is not cut, one more token is", async () => {
    for (const [words, truncated] of [
      [509, 0],
      [510, 0],
      [511, 1],
      [512, 1],
    ] as const) {
      const result = await embed(["cat ".repeat(words)]);
      expect([words, result.truncated, result.tokens]).toEqual([words, truncated, Math.min(words + 2, 512)]);
    }
  });
});

describe("bad input", () => {
  it.each(["", " ", "\n\t "])("an empty text (%j) is refused, alone and among others", async (text) => {
    await rejection("INVALID_INPUT", () => embed([text]));
    await rejection("INVALID_INPUT", () => embed(["a", text]));
  });

  it.each<[string, EmbedOptions]>([
    ["dimensions", { dimensions: 0 }],
    ["dimensions", { dimensions: 385 }],
    ["dimensions", { dimensions: 1.5 }],
    ["dimensions", { dimensions: -1 }],
    ["truncate", { truncate: "middle" as "head" }],
  ])("%s out of range is refused: %o", async (name, options) => {
    expect(await rejection("INVALID_INPUT", () => embed(["a"], options))).toContain(name);
  });

  it("wrong types are errors", () => {
    expect(() => embedder.embed("a" as unknown as string[], {})).toThrow();
    expect(() => embedder.embed([5] as unknown as string[], {})).toThrow();
  });

  it("fails its own call alone", async () => {
    const results = await Promise.allSettled([embed(["fine"]), embed([""]), embed(["fine too"])]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });
});

describe("stopping", () => {
  it("a cancelled call rejects, the others do not", async () => {
    const calls = Array.from({ length: 10 }, () =>
      embedder.embed(Array(4).fill("some words ".repeat(40)), {}),
    );
    const results = Promise.allSettled(calls.map((call) => call.result()));
    const cancelled = [0, 4, 9];
    for (const index of cancelled) calls[index]?.cancel();
    const outcomes = await results;
    const rejected = outcomes.flatMap((result, index) => (result.status === "rejected" ? [index] : []));
    expect(rejected).toEqual(cancelled);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason.message).toMatch(/^CANCELLED: /);
    }
  });

  it("a result can be taken once", async () => {
    const call = embedder.embed(["a"], {});
    await call.result();
    await rejection("INVALID_INPUT", () => call.result());
  });

  it("closing fails what is queued with CLOSED, and everything after it", async () => {
    const other = await model.openEmbedder({ threads: 1 });
    const calls = Array.from({ length: 40 }, () => other.embed(Array(10).fill("some words ".repeat(60)), {}));
    const results = Promise.allSettled(calls.map((call) => call.result()));
    await other.close();
    const rejected = (await results).filter((result) => result.status === "rejected");
    expect(rejected.length).toBeGreaterThan(0);
    for (const { reason } of rejected) expect(reason.message).toMatch(/^CLOSED: /);
    await rejection("CLOSED", () => other.embed(["a"], {}).result());
    expect((await embed(["the other embedder works"])).vectors).toHaveLength(1);
  });
});
