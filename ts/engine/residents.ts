import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import type { ContextMetrics, ContextOptions, EmbedderOptions } from "../native/addon.js";
import { forwardLogs } from "../native/logs.js";
import type { Embedder } from "./embedding/embedder.js";
import { memoryNeed, roleOf } from "./estimate.js";
import { withMapping } from "./mapping.js";
import { memoryArbiter } from "./memory/shared.js";
import type { Lease, MemoryOwner, MemoryRequest } from "./memory/types.js";
import { LocalModel } from "./model.js";
import type { AnySpec, ModelSpec } from "./specs.js";
import type { LocalContext } from "./text/context.js";

/**
 * Marks the handles of this copy of the package: another copy shares the arbiter, not the objects, whose classes and
 * errors are its own.
 */
const COPY = randomUUID();

/** Those of this copy that are loaded. */
const loaded = new Set<Resident>();

/** One set of weights in memory with the contexts and embedders opened from it, shared by every agent of the process. */
export class Resident {
  readonly model: LocalModel;
  readonly #contexts = new Map<string, Promise<LocalContext>>();
  readonly #embedders = new Map<string, Promise<Embedder>>();
  readonly #open: LocalContext[] = [];
  #kvBytes = 0;

  private constructor(model: LocalModel) {
    this.model = model;
    loaded.add(this);
  }

  static async load(spec: ModelSpec, signal: AbortSignal): Promise<Resident> {
    try {
      const load = await withMapping(spec.load);
      return new Resident(await LocalModel.load(spec.path, { ...load, signal }));
    } finally {
      forwardLogs();
    }
  }

  /** Bytes of the caches of its contexts: for what they work on, and for the beginnings of prompts. */
  get cacheBytes(): number {
    return this.#open.reduce((sum, context) => sum + context.metrics().cacheBytes, this.#kvBytes);
  }

  /** The context of these options, opened on the first call; idle models leave if there is no room for it. */
  context(options: ContextOptions): Promise<LocalContext> {
    return once(this.#contexts, options, async () => {
      const context = await memoryArbiter().withRoom(() => this.model.createContext(options));
      this.#open.push(context);
      this.#kvBytes += context.info.kvBytes + context.info.drafterBytes;
      return context;
    });
  }

  embedder(options: EmbedderOptions): Promise<Embedder> {
    return once(this.#embedders, options, () =>
      memoryArbiter().withRoom(() => this.model.createEmbedder(options)),
    );
  }

  /** Contexts that are open. */
  get contexts(): readonly LocalContext[] {
    return this.#open;
  }

  async close(): Promise<void> {
    loaded.delete(this);
    await this.model.close();
    forwardLogs();
  }
}

/** Holds the model of `spec` for `owner`, loading it when it is not in memory; calls at the same time share one load. */
export function acquire(
  owner: MemoryOwner,
  spec: AnySpec,
  signal: AbortSignal | undefined,
): Promise<Lease<Resident>> {
  return memoryArbiter().acquire(requestOf(spec), owner, signal);
}

/** Takes an owner's claim off every model; those that nobody else claims leave memory. */
export function disown(owner: MemoryOwner): Promise<void> {
  return memoryArbiter().disown(owner);
}

/** Takes an owner's claim off one model, which leaves memory when nobody else claims it. */
export function relinquish(owner: MemoryOwner, spec: ModelSpec): Promise<void> {
  return memoryArbiter().disown(owner, specKey(spec));
}

/** Whether a model is in memory, and whether somebody else uses it too. */
export function residency(owner: MemoryOwner, spec: ModelSpec): { loaded: boolean; shared: boolean } {
  return memoryArbiter().residency(owner, specKey(spec));
}

/** Handles that are in memory or being loaded, of every copy of this package. */
export function residentCount(): number {
  return memoryArbiter().size;
}

/** Bytes of handles that would leave for a load that needs them. */
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
  return [...loaded].flatMap(({ model, contexts }) => {
    const name = basename(model.header.path);
    return contexts.map((context) => ({ model: name, ...context.metrics() }));
  });
}

function requestOf(spec: AnySpec): MemoryRequest<Resident> {
  let fixedBytes = 0;
  return {
    key: specKey(spec),
    role: roleOf(spec),
    label: basename(spec.path),
    need: async () => {
      const need = await memoryNeed(spec);
      fixedBytes = need.bytes - need.cacheBytes;
      return need;
    },
    load: (signal) => Resident.load(spec, signal),
    unload: (resident) => resident.close(),
    size: (resident) => fixedBytes + resident.cacheBytes,
  };
}

/** The value made for these options, or the one being made; a failure is forgotten. */
function once<T>(made: Map<string, Promise<T>>, options: object, make: () => Promise<T>): Promise<T> {
  const key = JSON.stringify(sorted(options));
  let value = made.get(key);
  if (value === undefined) {
    value = make().catch((error: unknown) => {
      made.delete(key);
      throw error;
    });
    made.set(key, value);
  }
  return value;
}

function specKey(spec: ModelSpec): string {
  return JSON.stringify([COPY, spec.path, sorted(spec.load)]);
}

function sorted(options: object | undefined): [string, unknown][] {
  return Object.entries(options ?? {})
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
