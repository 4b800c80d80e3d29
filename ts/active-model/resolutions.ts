import type { Kind } from "../roles.js";
import type { ResolvedLoad } from "./load-types.js";
import type { LoadOverrides } from "./overrides.js";

export interface ResolveOptions {
  /** undefined: what the model is made for. */
  readonly kind?: Kind | undefined;
  readonly overrides?: LoadOverrides;
  /** Bytes that the models which leave give back. */
  readonly freedBytes?: number;
}

export interface ResolutionsOptions {
  readonly resolve: (name: string, how: ResolveOptions) => Promise<ResolvedLoad>;
  /** A text that changes when the files that a name means change. @throws what finding them throws. */
  readonly versionOf: (name: string) => Promise<string>;
}

type How = Pick<ResolveOptions, "kind" | "overrides">;

/** How models are loaded. The same name gives the same object for as long as its files stay as they are. */
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

  /** As `of`, once other models have given their memory back; nothing is remembered. */
  async anew(name: string, how: ResolveOptions): Promise<ResolvedLoad> {
    return this.#options.resolve(name, how);
  }

  /** What `of` answers from now on: a load that has proved itself. */
  async keep(name: string, how: How, load: ResolvedLoad): Promise<void> {
    const version = await this.#options.versionOf(name).catch(() => undefined);
    if (version !== undefined) this.#kept.set(keyOf(name, how), { version, load: Promise.resolve(load) });
  }
}

function keyOf(name: string, { kind, overrides = {} }: How): string {
  return JSON.stringify([name, kind, Object.entries(overrides).sort()]);
}
