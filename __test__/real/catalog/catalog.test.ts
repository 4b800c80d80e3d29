import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { runtimeForTier } from "../../../ts/active-model/runtime-for-tier.js";
import { kvBytesPerToken } from "../../../ts/catalog/device-fit.js";
import { defaultVariant, factsOfEntry, factsOfFile, variantBytes } from "../../../ts/catalog/facts.js";
import { catalog, parseCatalog } from "../../../ts/catalog/load.js";
import { catalogJsonSchema } from "../../../ts/catalog/schema.js";
import { hostedVariants } from "../../../ts/catalog/variants.js";
import { wantedModel } from "../../../ts/download/wanted.js";
import { loadNative, type NativeAddon } from "../../../ts/native/addon.js";
import { modelPath } from "../../helpers/models.js";

const pathOf = (name: string) => fileURLToPath(new URL(`../../../catalog/${name}`, import.meta.url));
const { entries, tiers } = catalog();
const byId = (id: string) => {
  const entry = catalog().find(id);
  if (entry === undefined) throw new Error(`${id} is not in the catalog`);
  return entry;
};

let addon: NativeAddon;
beforeAll(async () => {
  addon = await loadNative();
});

describe("the catalog files", () => {
  it("have the schema that editors are given", () => {
    const written: unknown = JSON.parse(readFileSync(pathOf("schema.json"), "utf8"));
    expect(written, "run node scripts/catalog-schema.mjs").toEqual(catalogJsonSchema());
  });

  it("name the five tiers with their bases and contexts", () => {
    expect(tiers.map(({ id, base, contextLength }) => [id, base, contextLength])).toEqual([
      ["eliza-1-2b", "Gemma 4 E2B", 131_072],
      ["eliza-1-4b", "Gemma 4 E4B", 131_072],
      ["eliza-1-9b", "Gemma 4 12B", 131_072],
      ["eliza-1-27b", "Gemma 4 31B", 131_072],
      ["eliza-1-27b-256k", "Gemma 4 31B", 262_144],
    ]);
  });

  it("know old bundles by their former paths", () => {
    const { hub, variants } = byId("eliza-1-2b");
    expect([hub.folder, variants[0]?.file]).toEqual(["bundles/e2b", "text/eliza-1-e2b-128k.gguf"]);
    expect([hub.formerFolder, variants[0]?.formerFile]).toEqual(["bundles/2b", "text/eliza-1-2b-128k.gguf"]);
  });

  it.each(entries.map((entry) => [entry.id, entry] as const))(
    "%s can be fetched and has a size",
    (_, entry) => {
      expect(hostedVariants(entry)).toContain(defaultVariant(entry));
      expect(variantBytes(entry, defaultVariant(entry))).toBeGreaterThan(1e7);
      expect(wantedModel(entry).files[0]).toMatchObject({ repository: entry.hub.repository, role: "model" });
    },
  );

  it.each(entries.map((entry) => [entry.id, entry] as const))(
    "%s says why it is not recommended",
    (_, entry) => {
      expect(entry.recommended || entry.provenance.notes.length > 0).toBe(true);
      expect(entry.recommended && entry.provenance.publish !== "published").toBe(false);
    },
  );

  it("of earlier versions may name transcription differently", () => {
    const text = readFileSync(pathOf("tiers.json"), "utf8");
    const former = text.replaceAll('"transcription": {', '"audio": {');
    expect(former).not.toBe(text);
    expect(parseCatalog(former, "tiers.json")).toEqual(parseCatalog(text, "tiers.json"));
  });

  it("that are damaged are refused with the place", () => {
    const text = readFileSync(pathOf("tiers.json"), "utf8");
    const bad = text.replace('"contextLength": 131072', '"contextLength": "long"');
    expect(() => parseCatalog(bad, "tiers.json")).toThrow(/tiers\.json.*models\.0\.contextLength/);
    const outside = text.replace("text/eliza-1-e2b-128k.gguf", "../../etc/passwd");
    expect(() => parseCatalog(outside, "tiers.json")).toThrow(/models\.0\.variants\.0\.file/);
  });
});

describe("a tier's runtime", () => {
  it.each(["eliza-1-2b", "eliza-1-4b"])("%s drafts one token with its drafter", (id) => {
    const slug = id === "eliza-1-2b" ? "e2b" : "e4b";
    expect(runtimeForTier(byId(id))?.mtp).toEqual({
      specType: "draft-mtp",
      drafterFile: `mtp/drafter-${slug}.gguf`,
      formerDrafterFile: `mtp/drafter-${id.slice("eliza-1-".length)}.gguf`,
      draftMin: 1,
      draftMax: 1,
      gpuLayers: "auto",
    });
  });

  it.each(["eliza-1-9b", "eliza-1-27b", "eliza-1-27b-256k"])(
    "%s has no drafter and does not speculate",
    (id) => {
      const runtime = runtimeForTier(byId(id));
      expect(runtime).toEqual({ preferredBackend: "llama-cpp", optimizations: expect.any(Object) });
    },
  );

  it("is one sequence with flash attention, one checkpoint, and no cache of its own", () => {
    for (const tier of tiers) {
      const runtime = runtimeForTier(tier);
      expect(runtime?.optimizations).toEqual({
        parallel: 1,
        flashAttention: true,
        ctxCheckpoints: 1,
        ctxCheckpointInterval: 4096,
      });
      expect(runtime).not.toHaveProperty("kvCache");
    }
    expect(runtimeForTier(byId("qwen3-4b"))).toBeUndefined();
  });
});

describe("the shape in the catalog", () => {
  it("agrees with the header of a file of the same model", async () => {
    const file = await factsOfFile(modelPath("chat"));
    // SmolLM2 135M is not in the catalog: its header stands for how a shape is derived.
    expect(file).toMatchObject({
      kind: "chat",
      architecture: "llama",
      contextLength: 8192,
      estimated: false,
    });
    expect(file.shape.layers).toEqual([
      { count: 30, keyElements: 192, valueElements: 192, keyHead: 64, valueHead: 64 },
    ]);
    expect(kvBytesPerToken(file.shape, addon.assessFit)).toBe(30 * 2 * 192 * 2);
  });

  it("gives the cache of a tier: windows once, the rest per token", () => {
    const { shape } = factsOfEntry(byId("eliza-1-2b"));
    const assess = (contextSize: number) =>
      addon.assessFit(shape, {
        memoryAvailable: 8.5 * 2 ** 30,
        memoryHeadroomBytes: 0,
        contextSize,
        kvTypeK: "q8_0",
        kvTypeV: "q8_0",
      });
    const [short, long] = [assess(65_536), assess(131_072)];
    // Three layers see everything: one head of 512 elements for keys and for values, 34 bytes for 32 of them.
    const perToken = (3 * 2 * 512 * 34) / 32;
    const windows = (12 * 2 * 256 * 34) / 32;
    expect(long.windows).toBe("full");
    expect(long.kvBytes - short.kvBytes).toBe(65_536 * (perToken + windows));
    const tight = addon.assessFit(shape, {
      memoryAvailable: 5.9e9,
      memoryHeadroomBytes: 0,
      kvTypeK: "q8_0",
      kvTypeV: "q8_0",
    });
    expect(tight).toMatchObject({ windows: "trimmed", contextSize: 131_072 });
    expect(tight.kvBytes).toBe(131_072 * perToken + 1024 * windows);
  });
});
