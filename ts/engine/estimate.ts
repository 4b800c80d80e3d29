import { callNative, loadNative, type ModelShape } from "../native/addon.js";
import type { MemoryNeed, MemoryRole } from "./memory/types.js";
import type { AnySpec } from "./specs.js";

/** Tokens of context that a text model should find room for when its size is left to the memory. */
const USEFUL_CONTEXT = 4096;
/** An embedder evaluates a text at once and keeps no cache of it. */
const EMBEDDING_CONTEXT = 512;

export function roleOf(spec: AnySpec): MemoryRole {
  return spec.embedder === undefined ? "text" : "embedding";
}

export interface ModelNeed extends MemoryNeed {
  /** The part of `bytes` that is the cache of a context. */
  readonly cacheBytes: number;
}

/** What loading a model takes, by its header: weights, tokenizer, and a context of a useful size. */
export async function memoryNeed(spec: AnySpec): Promise<ModelNeed> {
  const addon = await loadNative();
  const [shape, { memoryTotal }] = await Promise.all([
    callNative(() => addon.readShape(spec.path)),
    callNative(() => addon.hardwareFacts()),
  ]);
  const contextSize = contextOf(spec, shape);
  const options = { memoryAvailable: Number.MAX_SAFE_INTEGER, contextSize };
  const { neededBytes, kvBytes } = await callNative(() => addon.assessFit(shape, options));
  const headroomBytes = spec.load?.memoryHeadroomBytes ?? addon.defaultHeadroom(memoryTotal);
  return { bytes: neededBytes, headroomBytes, cacheBytes: roleOf(spec) === "embedding" ? 0 : kvBytes };
}

function contextOf(spec: AnySpec, { contextLength }: ModelShape): number {
  if (roleOf(spec) === "embedding") return Math.min(EMBEDDING_CONTEXT, contextLength);
  return spec.context?.contextSize ?? Math.min(USEFUL_CONTEXT, contextLength);
}
