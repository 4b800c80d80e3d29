import { basename } from "node:path";
import { readModelHeader } from "../engine/model.js";
import { callNative, loadNative, type ModelHeader, type ModelShape } from "../native/addon.js";
import type { CatalogEntry, CatalogShape, CatalogVariant } from "./schema.js";

/** What choosing and loading a model depends on, whether it comes from the catalog or from a file. */
export interface ModelFacts {
  /** Catalog id, or the name of the file without part number and `.gguf`. */
  readonly id: string;
  readonly displayName: string;
  readonly kind: ModelHeader["kind"];
  readonly architecture: string;
  /** As llama.cpp names it: `Q4_K_M`. */
  readonly quantization: string;
  /** Tokens that the model was trained with. */
  readonly contextLength: number;
  readonly shape: ModelShape;
  /** Whether the size of the weights is not known exactly. */
  readonly estimated: boolean;
  readonly entry?: CatalogEntry;
  readonly variant?: CatalogVariant;
  /** Of a model that is on this machine. */
  readonly header?: ModelHeader;
}

/**
 * The facts in a file, whatever model it is; `entry` when it is known to be one of the catalog.
 *
 * @throws LocalInferenceError `MODEL_NOT_FOUND`, `MODEL_INVALID`, `MODEL_UNSUPPORTED`, `BACKEND_UNAVAILABLE`.
 */
export async function factsOfFile(path: string, entry?: CatalogEntry): Promise<ModelFacts> {
  const addon = await loadNative();
  const [header, shape] = await Promise.all([readModelHeader(path), callNative(() => addon.readShape(path))]);
  return factsOfHeader(header, shape, entry);
}

/** The facts of a header that has been read. */
export function factsOfHeader(header: ModelHeader, shape: ModelShape, entry?: CatalogEntry): ModelFacts {
  const id = basename(header.path)
    .replace(/\.gguf$/i, "")
    .replace(/-00001-of-\d{5}$/, "");
  const variant = entry?.variants.find(({ quantization }) => quantization === header.quantization);
  return {
    id: entry?.id ?? id,
    displayName: entry?.displayName ?? header.name ?? id,
    kind: header.kind,
    architecture: header.architecture,
    quantization: header.quantization,
    contextLength: header.contextLength,
    shape,
    estimated: false,
    header,
    ...(entry === undefined ? {} : { entry }),
    ...(variant === undefined ? {} : { variant }),
  };
}

/** The facts of a catalog entry that is not on this machine. */
export function factsOfEntry(entry: CatalogEntry, variant = defaultVariant(entry)): ModelFacts {
  return {
    id: entry.id,
    displayName: entry.displayName,
    kind: entry.kind,
    architecture: entry.architecture,
    quantization: variant.quantization,
    contextLength: entry.contextLength,
    shape: shapeOf(entry, variant),
    estimated: variant.bytes === null,
    entry,
    variant,
  };
}

export function defaultVariant(entry: CatalogEntry): CatalogVariant {
  const [first] = entry.variants;
  const found = entry.variants.find(({ id }) => id === entry.defaultVariant) ?? first;
  if (found === undefined) throw new TypeError(`${entry.id} has no variant`);
  return found;
}

/** Size of a variant's weights: exact, approximate, or scaled from the default one; undefined when nothing is known. */
export function variantBytes(entry: CatalogEntry, variant: CatalogVariant): number | undefined {
  const own = variant.bytes ?? variant.approximateBytes;
  if (own !== undefined) return own;
  const standard = defaultVariant(entry);
  if (standard === variant || variant.sizeFactor === undefined) return undefined;
  const reference = standard.bytes ?? standard.approximateBytes;
  return reference && Math.round((reference * variant.sizeFactor) / (standard.sizeFactor ?? 1));
}

function shapeOf(entry: CatalogEntry, variant: CatalogVariant): ModelShape {
  const { shape, contextLength } = entry;
  const headLengths = shape.layers.map(({ headLength }) => headLength);
  const layerCount = shape.layers.reduce((sum, { count }) => sum + count, shape.sharedLayers ?? 0);
  return {
    weightBytes: variantBytes(entry, variant) ?? 0,
    contextLength,
    layers: shape.layers.map(layerGroup),
    stateBytes: 0,
    vocabularySize: shape.tokens,
    // Tokenizers with merge rules have about one for each token.
    merges: shape.merges ?? shape.tokens,
    embeddingLength: shape.embeddingLength,
    layerInputs: (shape.layerInputLength ?? 0) * layerCount,
    feedForwardLength: shape.feedForwardLength,
    heads: shape.heads,
    queryLength: shape.heads * Math.max(0, ...headLengths),
  };
}

function layerGroup({ count, kvHeads, headLength, window }: CatalogShape["layers"][number]) {
  const elements = kvHeads * headLength;
  const group = {
    count,
    keyElements: elements,
    valueElements: elements,
    keyHead: headLength,
    valueHead: headLength,
  };
  return window === undefined ? group : { ...group, window };
}
