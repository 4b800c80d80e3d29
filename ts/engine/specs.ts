import type { EmbedderOptions, LoadOptions } from "../native/addon.js";
import type { ContextOptions } from "./text/context-options.js";

/** A model as it is to be loaded. */
export interface ModelSpec {
  /** Real path of the GGUF. */
  readonly path: string;
  readonly load?: LoadOptions;
}

/** A model that writes text, with the context that its requests share. */
export interface TextSpec extends ModelSpec {
  readonly context?: ContextOptions;
}

/** A model that makes vectors. */
export interface EmbeddingSpec extends ModelSpec {
  readonly embedder?: EmbedderOptions;
}

export type AnySpec = ModelSpec & Partial<Pick<TextSpec, "context"> & Pick<EmbeddingSpec, "embedder">>;
