import { z } from "zod";
import { COMPANION_ROLES } from "../roles.js";

/** Kinds of machines for inference. */
export const DEVICE_CLASSES = ["phone", "cpu", "apple", "gpu", "big-gpu"] as const;
export type DeviceClass = (typeof DEVICE_CLASSES)[number];

/** Layers of the model that have the same attention. */
const layerGroup = z
  .strictObject({
    count: z.int().min(1).max(512),
    kvHeads: z.int().min(1).max(1024),
    headLength: z.int().min(1).max(4096).describe("Elements of one key or value head."),
    window: z
      .int()
      .min(1)
      .optional()
      .describe("Tokens of the sliding window; absent where a layer sees everything."),
  })
  .describe("Layers that store keys and values of their own.");

const shape = z
  .strictObject({
    embeddingLength: z.int().min(1),
    feedForwardLength: z.int().min(1).describe("The widest one; of experts, all that are used together."),
    heads: z.int().min(1).describe("Query heads."),
    tokens: z.int().min(1).describe("Size of the vocabulary."),
    merges: z.int().min(0).nullable().describe("Merge rules of the tokenizer; null: not known."),
    layers: z.array(layerGroup),
    sharedLayers: z.int().min(1).optional().describe("Layers that read the cache of another."),
    layerInputLength: z.int().min(1).optional().describe("Width of the input that each layer gets besides."),
  })
  .describe("What the memory of a context follows from.");

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const repositoryPath = z.string().regex(/^(?!\/)(?!.*(?:^|\/)\.\.?(?:\/|$))[^\\]+$/);
const bytes = z.int().min(1).nullable().describe("Exact size; null: not known.");

const variant = z.strictObject({
  id: z.string().regex(/^[a-z0-9_]+$/),
  quantization: z.string().describe("What the weights really are, as llama.cpp names it."),
  file: repositoryPath.nullable().describe("Path below hub.folder; of a split model, the first part."),
  formerFile: repositoryPath.optional().describe("Its path below hub.formerFolder, in older bundles."),
  bytes,
  approximateBytes: z.int().min(1).optional().describe("Where the exact size is not known."),
  sizeFactor: z
    .number()
    .positive()
    .optional()
    .describe("Size relative to the default variant, as announced."),
  sha256: sha256.nullable(),
  status: z.enum(["published", "pending", "planned"]),
  note: z.string().optional(),
});

const companion = z.strictObject({
  file: repositoryPath,
  formerFile: repositoryPath.optional(),
  bytes,
  sha256: sha256.nullable(),
  note: z.string().optional(),
});

export const entrySchema = z
  .strictObject({
    id: z.string().regex(/^[a-z0-9][a-z0-9.-]*$/),
    displayName: z.string().min(1),
    kind: z.enum(["chat", "embedding"]),
    tier: z.boolean().describe("One of the Eliza-1 tiers."),
    family: z.string().min(1),
    base: z.string().min(1).describe("The model that the weights are of."),
    architecture: z.string().min(1).describe("As the file must declare it."),
    parameters: z.int().min(1).nullable(),
    contextLength: z.int().min(1),
    dimensions: z.int().min(1).optional().describe("Of the vectors of an embedding model."),
    licence: z.string().nullable().describe("null: see the model page."),
    hub: z.strictObject({
      repository: z.string().regex(/^[\w.-]+\/[\w.-]+$/),
      revision: z.string().optional(),
      folder: repositoryPath.optional(),
      formerFolder: repositoryPath.optional(),
    }),
    defaultVariant: z.string(),
    variants: z.array(variant).min(1),
    companions: z.partialRecord(z.enum(COMPANION_ROLES), companion),
    shape,
    minRamGb: z.number().positive().nullable().describe("What the publisher asks for."),
    bundleBytes: bytes.describe("The model with all companions; null: not known."),
    recommended: z.boolean().describe("Whether it may be recommended to somebody who did not ask for it."),
    provenance: z.strictObject({
      publish: z.enum(["published", "pending"]),
      evaluation: z.enum(["passed", "failed", "unknown", "none"]),
      finetuned: z.boolean(),
      declaredKernels: z
        .array(z.string())
        .describe("Named by the published manifest; shown, never required."),
      notes: z.array(z.string()),
      sources: z.array(z.string().min(1)).min(1).describe("Where the facts of this entry come from."),
    }),
  })
  .refine((entry) => entry.variants.some(({ id }) => id === entry.defaultVariant), {
    message: "defaultVariant names none of the variants",
  })
  .refine((entry) => new Set(entry.variants.map(({ id }) => id)).size === entry.variants.length, {
    message: "two variants have the same id",
  });

export const catalogSchema = z.strictObject({
  $schema: z.string().optional(),
  version: z.literal(1),
  models: z.array(entrySchema),
});

const rung = z.strictObject({
  id: z.string(),
  /** Physical cores below which the model is too slow. */
  cores: z.int().min(1).optional(),
});

/** `catalog/recommendations.json`: which models are recommended, the best first. */
export const recommendationsSchema = z.strictObject({
  version: z.literal(1),
  chat: z.record(z.enum(DEVICE_CLASSES), z.array(rung)),
  /** By the memory of the machine, the largest first. */
  embedding: z.array(z.strictObject({ id: z.string(), memoryGiB: z.number().min(0) })),
});

export type Recommendations = z.infer<typeof recommendationsSchema>;
export type Rung = z.infer<typeof rung>;

/** One model of the catalog. */
export type CatalogEntry = z.infer<typeof entrySchema>;
export type CatalogVariant = CatalogEntry["variants"][number];
export type CatalogShape = CatalogEntry["shape"];

/** `catalog/schema.json`: the same for editors. */
export function catalogJsonSchema(): object {
  return z.toJSONSchema(catalogSchema, { target: "draft-2020-12" });
}
