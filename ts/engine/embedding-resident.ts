import { LocalInferenceError } from "../errors.js";
import type { Embedder } from "./embedding/embedder.js";
import { GGUF, ggufNeed } from "./gguf.js";
import { memoryArbiter } from "./memory/shared.js";
import type { LocalModel } from "./model.js";
import { OnceForOptions } from "./once-for-options.js";
import type { ModelKind, Resident } from "./resident.js";
import type { EmbeddingSpec } from "./specs.js";

/** An embedder evaluates a text at once and keeps no cache of it. */
const EMBEDDING_CONTEXT = 512;

/** A model that makes vectors, with the embedders opened from it. */
export class EmbeddingResident implements Resident<EmbeddingSpec> {
  readonly cacheBytes = 0;
  readonly model: LocalModel;
  readonly #embedders = new OnceForOptions<Embedder>();

  constructor(model: LocalModel) {
    this.model = model;
  }

  /** The embedder that a spec names, opened on the first call; the arbiter evicts idle models if there is no room for it. */
  embedder({ embedder: options = {} }: EmbeddingSpec): Promise<Embedder> {
    return this.#embedders.get(options, () =>
      memoryArbiter().withRoom(() => this.model.createEmbedder(options)),
    );
  }

  async open(spec: EmbeddingSpec): Promise<void> {
    await this.embedder(spec);
  }

  async check(spec: EmbeddingSpec, signal: AbortSignal): Promise<void> {
    const embedder = await this.embedder(spec);
    const { vectors } = await embedder.embed(["Hello"], { signal });
    const sound = vectors[0]?.every(Number.isFinite) && vectors[0].some((value) => value !== 0);
    if (!sound) throw new LocalInferenceError("DECODE_FAILED", "The model gives no usable vector.");
  }

  metrics(): never[] {
    return [];
  }
}

export const EMBEDDING: ModelKind<EmbeddingSpec, LocalModel, EmbeddingResident> = {
  role: "embedding",
  format: GGUF,
  need: async (spec) => {
    const need = await ggufNeed(spec, ({ contextLength }) => Math.min(EMBEDDING_CONTEXT, contextLength));
    return { ...need, cacheBytes: 0 };
  },
  resident: (model) => new EmbeddingResident(model),
};
