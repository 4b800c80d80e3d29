import type { Engine } from "../engine/engine.js";
import { weightsKey } from "../engine/residents.js";
import { fromNative } from "../errors.js";
import type { ActiveRole } from "../roles.js";
import { log } from "../support/log.js";
import type { ActiveModel } from "./active-model.js";
import type { Choice } from "./choice.js";
import { ModelDoesNotFitError } from "./does-not-fit.js";
import type { ResolvedLoad } from "./load-types.js";
import type { Resolutions } from "./resolutions.js";

export interface SwitcherOptions {
  readonly engine: Engine;
  /** Throws when a model cannot follow the one before it in a role. */
  readonly admit?: (role: ActiveRole, load: ResolvedLoad) => Promise<void>;
  /** A variant of the same model that would fit. */
  readonly fittingVariant?: (load: ResolvedLoad) => Promise<string | undefined>;
  /** Milliseconds that a switch waits for running requests. Default 2 minutes. */
  readonly drainMs?: number;
}

/** Loads and unloads the models of roles while no request uses them. */
export class Switcher {
  readonly #options: SwitcherOptions;
  readonly #models: readonly ActiveModel[];
  readonly #resolutions: Resolutions;
  /** Once set, a switch that fails loads no model again. */
  closed = false;

  /** @param models Those of every role. */
  constructor(options: SwitcherOptions, models: readonly ActiveModel[], resolutions: Resolutions) {
    this.#options = options;
    this.#models = models;
    this.#resolutions = resolutions;
  }

  /**
   * Admits a model by its memory and loads it for roles.
   *
   * @param first The load with the memory as it is now.
   * @throws LocalInferenceError once everything is as it was.
   */
  async activate({ name, how }: Choice, first: ResolvedLoad, models: readonly ActiveModel[]): Promise<void> {
    const { admit, fittingVariant } = this.#options;
    for (const { role } of models) await admit?.(role, first);
    // The load as it will be once the old models have left memory.
    const freedBytes = this.#bytesFreedBy(models);
    const next = freedBytes === 0 ? first : await this.#resolutions.anew(name, { ...how, freedBytes });
    const { numbers } = next.fit;
    const sized = next.fields.contextSize.value !== "auto";
    if (sized ? !numbers.fits : numbers.largestContext === 0) {
      throw new ModelDoesNotFitError(next, await fittingVariant?.(next));
    }
    await this.exclusively(models, () => this.#replace(models, next));
    await this.#resolutions.keep(name, how, next);
    logWarnings(next);
  }

  /** Holds the locks of roles, waits until their requests have ended, works, and opens the locks whatever happened. */
  async exclusively<T>(models: readonly ActiveModel[], work: () => Promise<T>): Promise<T> {
    const { drainMs = 120_000 } = this.#options;
    for (const { lock } of models) lock.hold();
    try {
      await Promise.all(models.map(({ lock, role }) => lock.drained(drainMs, role)));
      for (const model of models) model.switching = true;
      return await work();
    } finally {
      for (const model of models) {
        model.switching = false;
        model.lock.open();
      }
    }
  }

  /** Frees what only these roles use. */
  async unload(models: readonly ActiveModel[]): Promise<void> {
    await Promise.all(this.#usedOnlyBy(models).map(({ spec }) => this.#options.engine.release(spec)));
  }

  /** Loads a model for roles whose locks are held. When that fails it loads the old ones again, unless all ends. */
  async #replace(models: readonly ActiveModel[], next: ResolvedLoad): Promise<void> {
    const { engine } = this.#options;
    const before = models.map((model) => ({ model, load: model.load }));
    const old = this.#inMemory(this.#usedOnlyBy(models));
    await this.unload(models);
    for (const model of models) model.load = next;
    try {
      await engine.check(next.spec);
    } catch (cause) {
      const error = fromNative(cause);
      await engine.release(next.spec);
      for (const { model, load } of before) Object.assign(model, { load, error });
      if (!this.closed) await this.#restore(old);
      throw error;
    }
    for (const model of models) {
      Object.assign(model, { loadedAt: Date.now(), error: undefined, failed: undefined, busyUntil: 0 });
    }
  }

  /** Bytes that unloading these roles would free: what another engine uses as well stays. */
  #bytesFreedBy(models: readonly ActiveModel[]): number {
    const freed = this.#inMemory(this.#usedOnlyBy(models), { alone: true });
    return freed.reduce((sum, { fit }) => sum + fit.numbers.neededBytes, 0);
  }

  /** Loads what was in memory before. */
  async #restore(old: readonly ResolvedLoad[]): Promise<void> {
    for (const { spec, model } of old) {
      try {
        await this.#options.engine.check(spec);
      } catch (error) {
        log("error", `The model before it, ${model.id}, could not be loaded again.`, {
          error: fromNative(error).message,
        });
      }
    }
  }

  /** Loads whose weights no other role uses. */
  #usedOnlyBy(models: readonly ActiveModel[]): ResolvedLoad[] {
    const others = this.#models.filter((one) => !models.includes(one));
    const kept = new Set(loadsOf(others).map(({ spec }) => weightsKey(spec)));
    const byWeights = new Map(loadsOf(models).map((load) => [weightsKey(load.spec), load]));
    return [...byWeights].filter(([key]) => !kept.has(key)).map(([, load]) => load);
  }

  #inMemory(loads: readonly ResolvedLoad[], { alone = false } = {}): ResolvedLoad[] {
    return loads.filter(({ spec }) => {
      const { loaded, shared } = this.#options.engine.residency(spec);
      return loaded && !(alone && shared);
    });
  }
}

const warned = new WeakSet<ResolvedLoad>();

/** Small and large may use the same load: its warnings are logged once. */
export function logWarnings(load: ResolvedLoad): void {
  if (warned.has(load)) return;
  warned.add(load);
  for (const text of load.warnings) log("warn", text);
}

function loadsOf(models: readonly ActiveModel[]): ResolvedLoad[] {
  return models.flatMap(({ load }) => (load === undefined ? [] : [load]));
}
