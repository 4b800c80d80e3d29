import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Embedder, LocalModel } from "../../../../ts/index.js";
import { modelPath } from "../../../helpers/models.js";

const BREAD = "The baker sells fresh bread.";
const FOOD = "This shop has tasty food.";
const MARKET = "The stock market fell sharply today.";

let model: LocalModel;
let embedder: Embedder;

beforeAll(async () => {
  model = await LocalModel.load(modelPath("embedding"));
  embedder = await model.createEmbedder({ threads: 2 });
});

afterAll(() => model?.close());

function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0;
  for (let i = 0; i < a.length; i++) dot += (a[i] ?? 0) * (b[i] ?? 0);
  return dot / (norm(a) * norm(b));
}

function norm(vector: Float32Array): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
}

async function vectorOf(text: string): Promise<Float32Array> {
  const [vector] = (await embedder.embed([text])).vectors;
  if (vector === undefined) throw new Error("no vector");
  return vector;
}

describe("an embedding", () => {
  it("has the model's dimensions and length 1", async () => {
    const vector = await vectorOf(BREAD);
    expect(vector).toHaveLength(384);
    expect(norm(vector)).toBeCloseTo(1, 4);
  });

  it("brings bread nearer to food than to the stock market", async () => {
    const [bread, food, market] = [await vectorOf(BREAD), await vectorOf(FOOD), await vectorOf(MARKET)];
    expect(cosine(bread, food)).toBeGreaterThan(cosine(bread, market) + 0.2);
  });

  it("is the same alone and in a batch", async () => {
    const texts = [BREAD, FOOD, MARKET, `${BREAD} ${FOOD} ${MARKET}`];
    const { vectors, tokens } = await embedder.embed(texts);
    expect(tokens).toBeGreaterThan(texts.length);
    for (const [index, text] of texts.entries()) {
      const together = vectors[index] as Float32Array;
      expect(cosine(together, await vectorOf(text))).toBeGreaterThan(0.999);
    }
  });

  it("of fewer dimensions has length 1 again", async () => {
    const { vectors } = await embedder.embed([BREAD], { dimensions: 128 });
    expect(vectors[0]).toHaveLength(128);
    expect(norm(vectors[0] as Float32Array)).toBeCloseTo(1, 4);
  });
});

describe("a text longer than the model reads", () => {
  const long = `${"bread ".repeat(1000)}${"market ".repeat(1000)}`;

  it("is refused when that is asked for", async () => {
    const refused = embedder.embed([long], { truncate: "error" });
    await expect(refused).rejects.toMatchObject({ code: "CONTEXT_OVERFLOW" });
  });

  it("keeps the end that is asked for", async () => {
    const [bread, market] = [await vectorOf("bread bread"), await vectorOf("market market")];
    const head = (await embedder.embed([long], { truncate: "head" })).vectors[0] as Float32Array;
    const tail = (await embedder.embed([long], { truncate: "tail" })).vectors[0] as Float32Array;
    expect(cosine(head, bread)).toBeGreaterThan(cosine(head, market));
    expect(cosine(tail, market)).toBeGreaterThan(cosine(tail, bread));
  });

  it("does not fail the texts it shares a batch with", async () => {
    const results = await Promise.allSettled([
      embedder.embed([BREAD], { truncate: "error" }),
      embedder.embed([long], { truncate: "error" }),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected"]);
  });
});
