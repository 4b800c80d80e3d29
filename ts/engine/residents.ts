import { abortError, throwIfAborted } from "../errors.js";
import { forwardLogs } from "../log.js";
import type { ContextOptions, EmbedderOptions, LoadOptions } from "../native.js";
import type { LocalContext } from "./context.js";
import { quiet } from "./deferred.js";
import type { Embedder } from "./embedder.js";
import { LocalModel } from "./model.js";

/** Who keeps models in memory: an engine, with its own patience for idle ones. */
export interface Owner {
  /** Milliseconds; 0: never unload while this owner lives. */
  readonly idleUnloadMs: number;
}

export interface ModelSpec {
  /** Real path of the GGUF. */
  readonly path: string;
  readonly load?: LoadOptions;
}

/** One set of weights in memory with the contexts and embedders opened from it, shared by every agent of the process. */
export class Resident {
  readonly key: string;
  readonly model: Promise<LocalModel>;
  readonly owners = new Set<Owner>();
  readonly #loading = new AbortController();
  readonly #contexts = new Map<string, Promise<LocalContext>>();
  readonly #embedders = new Map<string, Promise<Embedder>>();
  #busy = 0;
  #loaded = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(key: string, spec: ModelSpec) {
    this.key = key;
    this.model = quiet(this.#load(spec));
  }

  context(options: ContextOptions): Promise<LocalContext> {
    return once(this.#contexts, options, async () => (await this.model).createContext(options));
  }

  embedder(options: EmbedderOptions): Promise<Embedder> {
    return once(this.#embedders, options, async () => (await this.model).createEmbedder(options));
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  hold(): void {
    this.#busy += 1;
    clearTimeout(this.#timer);
  }

  /** Ends a {@link Resident.hold}; the last one starts the idle time, or gives up what failed to load or nobody waits for. */
  letGo(): void {
    this.#busy -= 1;
    if (this.#busy > 0 || residents.get(this.key) !== this) return;
    if (!this.#loaded) {
      void unload(this);
      return;
    }
    const patience = [...this.owners].map((owner) => owner.idleUnloadMs);
    if (patience.length === 0 || patience.includes(0)) return;
    this.#timer = setTimeout(() => void unload(this), Math.max(...patience)).unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#loading.abort();
    const model = await this.model.catch(() => undefined);
    await model?.close();
    forwardLogs();
  }

  async #load(spec: ModelSpec): Promise<LocalModel> {
    try {
      const model = await LocalModel.load(spec.path, { ...spec.load, signal: this.#loading.signal });
      this.#loaded = true;
      return model;
    } finally {
      forwardLogs();
    }
  }
}

const residents = new Map<string, Resident>();
const leaving = new Map<string, Promise<void>>();

/**
 * Holds the model of `spec` for `owner`, loading it when it is not in memory; calls at the same time share one load.
 * The caller ends its hold with `letGo`.
 */
export async function acquire(
  owner: Owner,
  spec: ModelSpec,
  signal: AbortSignal | undefined,
): Promise<Resident> {
  const key = specKey(spec);
  while (leaving.has(key)) await leaving.get(key);
  throwIfAborted(signal);
  let resident = residents.get(key);
  if (resident === undefined) {
    resident = new Resident(key, spec);
    residents.set(key, resident);
  }
  resident.owners.add(owner);
  resident.hold();
  try {
    await unlessAborted(resident.model, signal);
    return resident;
  } catch (error) {
    resident.letGo();
    throw error;
  }
}

/** Takes an owner's claim off every model; those that nobody else claims leave memory. */
export async function disown(owner: Owner): Promise<void> {
  const claimed = [...residents.values()].filter((resident) => resident.owners.delete(owner));
  await Promise.all(claimed.filter((resident) => resident.owners.size === 0).map(unload));
}

/** Takes an owner's claim off one model, which leaves memory when nobody else claims it. */
export async function relinquish(owner: Owner, spec: ModelSpec): Promise<void> {
  const resident = residents.get(specKey(spec));
  if (resident === undefined || !resident.owners.delete(owner)) return;
  if (resident.owners.size === 0) await unload(resident);
}

/** Whether a model is in memory, and whether somebody else uses it too. */
export function residency(owner: Owner, spec: ModelSpec): { loaded: boolean; shared: boolean } {
  const resident = residents.get(specKey(spec));
  const others = [...(resident?.owners ?? [])].filter((one) => one !== owner);
  return { loaded: resident?.loaded ?? false, shared: others.length > 0 };
}

/** Paths and owners' claims of what is in memory or being loaded. */
export function residentCount(): number {
  return residents.size;
}

function unload(resident: Resident): Promise<void> {
  if (residents.get(resident.key) !== resident) return leaving.get(resident.key) ?? Promise.resolve();
  residents.delete(resident.key);
  const gone = resident
    .close()
    .catch(() => {})
    .finally(() => leaving.delete(resident.key));
  leaving.set(resident.key, gone);
  return gone;
}

/** The value made for these options, or the one being made; a failure is forgotten. */
function once<T>(made: Map<string, Promise<T>>, options: object, make: () => Promise<T>): Promise<T> {
  const key = keyOf(sorted(options));
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
  return keyOf([spec.path, sorted(spec.load)]);
}

function keyOf(value: unknown): string {
  return JSON.stringify(value);
}

function sorted(options: object | undefined): [string, unknown][] {
  return Object.entries(options ?? {})
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  let leave: () => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(abortError(signal));
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
