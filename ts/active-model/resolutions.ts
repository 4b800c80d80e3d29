import type { Kind } from "../roles.js";
import type { ResolvedLoad } from "./load-types.js";
import type { LoadOverrides } from "./overrides.js";

export interface ResolveOptions {
  /** undefined: what the model is made for. */
  readonly kind?: Kind | undefined;
  readonly overrides?: LoadOverrides;
  /** Bytes that the models to be unloaded free. */
  readonly freedBytes?: number;
}

export interface ResolutionsOptions {
  readonly resolve: (name: string, how: ResolveOptions) => Promise<ResolvedLoad>;
  /** A text that changes when the files that a name means change. @throws what finding them throws. */
  readonly versionOf: (name: string) => Promise<string>;
}

type How = Pick<ResolveOptions, "kind" | "overrides">;

/** Resolved loads by name. The same name gives the same object as long as its files are unchanged. */
export class Resolutions {
  readonly #options: ResolutionsOptions;
  readonly #kept = new Map<string, { readonly version: string; readonly load: Promise<ResolvedLoad> }>();

  constructor(options: ResolutionsOptions) {
    this.#options = options;
  }

  /** @throws LocalInferenceError what finding and resolving a model throws; the next call tries again. */
  async of(name: string, how: How): Promise<ResolvedLoad> {
    const version = await this.#options.versionOf(name);
    const key = keyOf(name, how);
    const kept = this.#kept.get(key);
    if (kept?.version === version) return kept.load;
    const load = this.#options.resolve(name, how);
    this.#kept.set(key, { version, load });
    load.catch(() => {
      if (this.#kept.get(key)?.load === load) this.#kept.delete(key);
    });
    return load;
  }

  /** As `of`, with the memory that other models free; remembers nothing. */
  async anew(name: string, how: ResolveOptions): Promise<ResolvedLoad> {
    return this.#options.resolve(name, how);
  }

  /** Makes `of` return a load that has worked. */
  async keep(name: string, how: How, load: ResolvedLoad): Promise<void> {
    const version = await this.#options.versionOf(name).catch(() => undefined);
    if (version !== undefined) this.#kept.set(keyOf(name, how), { version, load: Promise.resolve(load) });
  }
}

function keyOf(name: string, { kind, overrides = {} }: How): string {
  return JSON.stringify([name, kind, Object.entries(overrides).sort()]);
}
