import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import type { ContextMetrics } from "../native/addon.js";
import { forwardLogs } from "../native/logs.js";
import { type AnyKind, kindOf, type ResidentOf } from "./kinds.js";
import type { Lease, MemoryOwner, MemoryRequest } from "./memory/contract.js";
import { memoryArbiter } from "./memory/shared.js";
import { optionsKey } from "./once-for-options.js";
import type { Resident, Weights } from "./resident.js";
import type { AnySpec, ModelSpec } from "./specs.js";

/**
 * Marks the handles of this copy of the package: another copy shares the arbiter, not the objects, whose classes and
 * errors are its own.
 */
const COPY = randomUUID();

/** Those of this copy that are loaded. */
const loaded = new Set<Handle>();

/** One set of weights in memory, shared by every agent of the process and by the kinds that it is used as. */
export class Handle {
  /** File name of the model. */
  readonly name: string;
  readonly #weights: Weights;
  readonly #residents = new Map<AnyKind, Resident<ModelSpec>>();

  private constructor(name: string, weights: Weights) {
    this.name = name;
    this.#weights = weights;
    loaded.add(this);
  }

  static async load(spec: ModelSpec, signal: AbortSignal): Promise<Handle> {
    return new Handle(basename(spec.path), await kindOf(spec).format.load(spec, signal));
  }

  /** What requests of a spec's kind use. */
  resident<S extends AnySpec>(spec: S): ResidentOf<S> {
    const kind = kindOf(spec);
    const resident = this.#residents.get(kind) ?? kind.resident(this.#weights);
    this.#residents.set(kind, resident);
    return resident as never;
  }

  /** Bytes of the caches of what was opened. */
  get cacheBytes(): number {
    return [...this.#residents.values()].reduce((sum, { cacheBytes }) => sum + cacheBytes, 0);
  }

  metrics(): ContextMetrics[] {
    return [...this.#residents.values()].flatMap((resident) => resident.metrics());
  }

  async close(): Promise<void> {
    loaded.delete(this);
    await this.#weights.close();
    forwardLogs();
  }
}

/** Holds the model of `spec` for `owner`, loading it when it is not in memory; calls at the same time share one load. */
export function acquire(
  owner: MemoryOwner,
  spec: ModelSpec,
  signal: AbortSignal | undefined,
): Promise<Lease<Handle>> {
  return memoryArbiter().acquire(requestOf(spec), owner, signal);
}

/** Takes an owner's claim off every model; the arbiter unloads those that nobody else claims. */
export function disown(owner: MemoryOwner): Promise<void> {
  return memoryArbiter().disown(owner);
}

/** Takes an owner's claim off one model; the arbiter unloads it when nobody else claims it. */
export function relinquish(owner: MemoryOwner, spec: ModelSpec): Promise<void> {
  return memoryArbiter().disown(owner, weightsKey(spec));
}

/** Whether a model is in memory, and whether somebody else uses it too. */
export function residency(owner: MemoryOwner, spec: ModelSpec): { loaded: boolean; shared: boolean } {
  return memoryArbiter().residency(owner, weightsKey(spec));
}

/** Handles that are in memory or being loaded, of every copy of this package. */
export function residentCount(): number {
  return memoryArbiter().size;
}

/** Bytes of handles that the arbiter would evict for a load that needs them. */
export function idleBytes(): number {
  const idle = memoryArbiter()
    .snapshot()
    .entries.filter(({ state, leases }) => state === "ready" && leases === 0);
  return idle.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** What a context does and has done. */
export interface ContextReport extends ContextMetrics {
  /** File name of the model. */
  readonly model: string;
}

/** The contexts in memory, by model. */
export function contextReports(): ContextReport[] {
  return [...loaded].flatMap((handle) =>
    handle.metrics().map((metrics) => ({ model: handle.name, ...metrics })),
  );
}

/** Names the weights that specs share: the same file in the same format, loaded with the same options. */
export function weightsKey(spec: ModelSpec): string {
  return JSON.stringify([COPY, kindOf(spec).format.name, spec.path, optionsKey(spec.load)]);
}

function requestOf(spec: ModelSpec): MemoryRequest<Handle> {
  const kind = kindOf(spec);
  let fixedBytes = 0;
  return {
    key: weightsKey(spec),
    role: kind.role,
    label: basename(spec.path),
    need: async () => {
      const need = await kind.need(spec);
      fixedBytes = need.bytes - need.cacheBytes;
      return need;
    },
    load: (signal) => Handle.load(spec, signal),
    unload: (handle) => handle.close(),
    size: (handle) => fixedBytes + handle.cacheBytes,
  };
}
