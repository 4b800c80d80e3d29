import type { ContextMetrics } from "../native/addon.js";
import type { MemoryRole } from "../roles.js";
import type { MemoryNeed } from "./memory/contract.js";
import type { ModelSpec } from "./specs.js";

/** A model in memory with what was opened from it for one kind of use. */
export interface Resident<S extends ModelSpec> {
  /** Bytes of caches that were opened so far, beside the weights. */
  readonly cacheBytes: number;
  /** Opens what a spec names, so that the first request finds it in memory. */
  open(spec: S): Promise<void>;
  /**
   * Computes as little as shows that the model works.
   *
   * @throws LocalInferenceError what opening and decoding throw; `DECODE_FAILED` for a model that computes nothing.
   */
  check(spec: S, signal: AbortSignal): Promise<void>;
  /** What its contexts do and have done; empty for a kind without contexts. */
  metrics(): readonly ContextMetrics[];
}

/** What loading takes. */
export interface ModelNeed extends MemoryNeed {
  /** The part of `bytes` that is the cache of a context. */
  readonly cacheBytes: number;
}

/** What a file holds once it is in memory. */
export interface Weights {
  close(): Promise<void>;
}

/** How the files of some kinds come into memory. Kinds of one format share the weights of a file. */
export interface WeightsFormat<W extends Weights> {
  readonly name: string;
  load(spec: ModelSpec, signal: AbortSignal): Promise<W>;
}

/** A kind of model: its row in `kinds.ts`. */
export interface ModelKind<S extends ModelSpec, W extends Weights, R extends Resident<S>> {
  /** What the arbiter keeps it as. */
  readonly role: MemoryRole;
  readonly format: WeightsFormat<W>;
  /** What loading a model of this kind takes, by its header. */
  need(spec: S): Promise<ModelNeed>;
  /** What requests of this kind use of loaded weights. */
  resident(weights: W): R;
}
