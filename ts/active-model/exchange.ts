import type { Engine } from "../engine/engine.js";
import { fromNative } from "../errors.js";
import { log } from "../support/log.js";
import type { ResolvedLoad } from "./resolve-load.js";
import type { Slot } from "./slot.js";
import { loadAndVerify } from "./verify.js";

export interface ExchangeOptions {
  readonly engine: Engine;
  readonly slots: readonly Slot[];
  /** Milliseconds to wait for running requests. */
  readonly drainMs: number;
}

/** Takes models out of slots and puts others in, while nobody uses them. */
export class Exchange {
  readonly #options: ExchangeOptions;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Closes the doors, waits for the rooms to be empty, works, and opens the doors whatever happened. */
  async exclusively<T>(places: readonly Slot[], work: () => Promise<T>): Promise<T> {
    for (const place of places) place.close();
    try {
      await Promise.all(places.map((place) => place.drained(this.#options.drainMs)));
      for (const place of places) place.switching = true;
      return await work();
    } finally {
      for (const place of places) {
        place.switching = false;
        place.open();
      }
    }
  }

  /** Puts a model into slots that nobody uses. When it does not work the old ones are put back, unless all ends. */
  async put(next: ResolvedLoad, places: readonly Slot[], isClosed: () => boolean): Promise<void> {
    const before = places.map((place) => ({ place, known: place.known }));
    const old = this.#loaded(this.#leaving(places));
    await this.empty(places);
    for (const place of places) place.known = next;
    try {
      await loadAndVerify(this.#options.engine, next.spec);
    } catch (cause) {
      const error = fromNative(cause);
      await this.#options.engine.release(next.spec);
      for (const { place, known } of before) Object.assign(place, { known, error });
      if (!isClosed()) await this.#restore(old);
      throw error;
    }
    for (const place of places) {
      Object.assign(place, { loadedAt: Date.now(), error: undefined, declined: undefined, busyUntil: 0 });
    }
  }

  /** Frees what only these slots use. */
  async empty(places: readonly Slot[]): Promise<void> {
    await Promise.all(this.#leaving(places).map(({ spec }) => this.#options.engine.release(spec)));
  }

  /** Bytes that these slots would give back: what another engine uses as well stays. */
  bytesFreedBy(places: readonly Slot[]): number {
    const freed = this.#loaded(this.#leaving(places), { alone: true });
    return freed.reduce((sum, { fit }) => sum + fit.numbers.neededBytes, 0);
  }

  /** Loads what was in memory before. */
  async #restore(old: readonly ResolvedLoad[]): Promise<void> {
    for (const { spec, model } of old) {
      try {
        await loadAndVerify(this.#options.engine, spec);
      } catch (error) {
        log("error", `The model before it, ${model.id}, could not be loaded again.`, {
          error: fromNative(error).message,
        });
      }
    }
  }

  /** Models that only these slots use. */
  #leaving(places: readonly Slot[]): ResolvedLoad[] {
    const staying = this.#options.slots.filter((slot) => !places.includes(slot));
    const kept = new Set(staying.flatMap(({ known }) => (known === undefined ? [] : [keyOf(known)])));
    const known = places.flatMap((place) => (place.known === undefined ? [] : [place.known]));
    const leaving = new Map(known.map((resolved) => [keyOf(resolved), resolved]));
    return [...leaving.values()].filter((resolved) => !kept.has(keyOf(resolved)));
  }

  #loaded(models: readonly ResolvedLoad[], { alone = false } = {}): ResolvedLoad[] {
    return models.filter(({ spec }) => {
      const { loaded, shared } = this.#options.engine.residency(spec);
      return loaded && !(alone && shared);
    });
  }
}

/** Weights that are the same and loaded in the same way. */
function keyOf({ spec }: ResolvedLoad): string {
  return JSON.stringify([spec.path, Object.entries(spec.load ?? {}).sort()]);
}
