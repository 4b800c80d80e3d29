import { describe, expect, it } from "vitest";
import { factsOfFile } from "../../../ts/catalog/facts.js";
import { catalog } from "../../../ts/catalog/load.js";
import type { CatalogEntry } from "../../../ts/catalog/schema.js";
import { modelPath } from "../../helpers/models.js";

const { entries } = catalog();

/** What a layer of each architecture has besides its matrices. */
const EXTRAS: Record<
  string,
  { biases?: boolean; headNorms?: boolean; norms: number; experts?: [number, number] }
> = {
  llama: { norms: 2 },
  qwen2: { norms: 2, biases: true },
  qwen3: { norms: 2, headNorms: true },
  // Experts, and how many are used together: the catalog has the width of those.
  qwen3moe: { norms: 2, headNorms: true, experts: [128, 8] },
  gemma3: { norms: 4, headNorms: true },
};

/** The parameters that a shape amounts to, without an output matrix of its own and with one. */
function parametersOf({ architecture, shape }: CatalogEntry): [number, number] | undefined {
  const extras = EXTRAS[architecture];
  if (extras === undefined) return undefined;
  const { embeddingLength: width, feedForwardLength, heads, tokens } = shape;
  const [total, used] = extras.experts ?? [1, 1];
  const feedForward = 3 * width * (feedForwardLength / used) * total;
  const router = total > 1 ? width * total : 0;
  const layers = shape.layers.map(({ count, kvHeads, headLength }) => {
    const [queries, keys] = [heads * headLength, kvHeads * headLength];
    const attention = 2 * width * queries + 2 * width * keys;
    const biases = extras.biases ? queries + 2 * keys : 0;
    const norms = extras.norms * width + (extras.headNorms ? 2 * headLength : 0);
    return count * (attention + biases + feedForward + router + norms);
  });
  const tied = layers.reduce((sum, size) => sum + size, width + tokens * width);
  return [tied, tied + tokens * width];
}

describe("the shape of a catalog entry", () => {
  const checked = entries.filter((entry) => entry.parameters !== null && entry.shape.layers.length > 0);

  it.each(checked.map((entry) => [entry.id, entry] as const))(
    "%s has the published number of parameters",
    (_, entry) => {
      expect(parametersOf(entry)).toContain(entry.parameters);
    },
  );

  it("is checked in this way for every model that states its parameters and keeps a cache", () => {
    expect(checked.length).toBeGreaterThanOrEqual(9);
  });

  it("of an embedding model has the width and the vocabulary of a real file of it", async () => {
    const { shape, contextLength } = await factsOfFile(modelPath("embedding"));
    const entry = entries.find(({ id }) => id === "all-minilm-l6-v2");
    expect(entry).toMatchObject({
      contextLength,
      dimensions: shape.embeddingLength,
      shape: {
        embeddingLength: shape.embeddingLength,
        feedForwardLength: shape.feedForwardLength,
        heads: shape.heads,
        tokens: shape.vocabularySize,
      },
    });
  });
});

describe("an entry of a model that people can use today", () => {
  const curated = entries.filter(({ tier }) => !tier);

  it.each(curated.map((entry) => [entry.id, entry] as const))(
    "%s names a revision that does not move",
    (_, entry) => {
      expect(entry.hub.revision).toMatch(/^[0-9a-f]{40}$/);
      expect(entry.provenance.sources.length).toBeGreaterThan(0);
    },
  );

  it("has its size and SHA-256, or says that one is not known", () => {
    const unknown = curated.filter(({ variants }) =>
      variants.some(({ bytes, sha256 }) => bytes === null || sha256 === null),
    );
    expect(unknown.map(({ id }) => id)).toEqual(["gemma-4-e2b-it"]);
    expect(unknown[0]?.provenance.sources.join()).toContain("no SHA-256 was found");
  });
});
