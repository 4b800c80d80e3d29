import type { Kind } from "../roles.js";
import type { EmbedderOptions } from "./embedding/embedder.js";
import type { LoadOptions } from "./load-options.js";
import type { ContextOptions } from "./text/context-options.js";

/** A model as it is to be loaded. */
export interface ModelSpec {
  /** What it is loaded as. A model that writes text can make vectors, too. */
  readonly kind: Kind;
  /** Real path of the GGUF. */
  readonly path: string;
  readonly load?: LoadOptions;
}

/** A model that writes text, with the context that its requests share. */
export interface TextSpec extends ModelSpec {
  readonly kind: "text";
  readonly context?: ContextOptions;
}

/** A model that makes vectors. */
export interface EmbeddingSpec extends ModelSpec {
  readonly kind: "embedding";
  readonly embedder?: EmbedderOptions;
}

export type AnySpec = TextSpec | EmbeddingSpec;
