import type { EmbeddingSpec, Engine, TextSpec } from "../engine/engine.js";
import { closedError, fromNative, LocalInferenceError, unavailable } from "../errors.js";
import { log } from "../log.js";
import { purposeOf, slotsFor } from "./choose-slots.js";
import { ModelDoesNotFitError } from "./does-not-fit.js";
import { type LoadOverrides, parseOverrides } from "./overrides.js";
import type { Purpose, ResolvedLoad } from "./resolve-load.js";
import { SLOTS, Slot, type SlotName, type SlotStatus } from "./slot.js";
import { loadAndVerify } from "./verify.js";

/** What {@link ActiveModels} needs of its surroundings. */
export interface ActiveModelsOptions {
  readonly engine: Engine;
  /** What names the model of a slot: a setting or an earlier choice. */
  readonly nameOf: (slot: SlotName) => string | undefined;
  /** Which setting a user would write for a slot. */
  readonly settingOf: (slot: SlotName) => string;
  readonly resolve: (name: string, how: ResolveOptions) => Promise<ResolvedLoad>;
  /** A variant of the same model that would fit. */
  readonly fittingVariant?: (resolved: ResolvedLoad) => Promise<string | undefined>;
  /** Milliseconds that a switch waits for running requests. Default 2 minutes. */
  readonly drainMs?: number;
}

export interface ResolveOptions {
  /** undefined: what the model is made for. */
  readonly purpose?: Purpose | undefined;
  readonly overrides?: LoadOverrides;
  /** Bytes that the models which leave give back. */
  readonly freedBytes?: number;
}

export interface SwitchOptions {
  /** Default: the embedding slot for an embedding model, both text slots for any other. */
  readonly slots?: readonly SlotName[];
  /** Checked by {@link parseOverrides}. */
  readonly overrides?: unknown;
}

export interface SlotState {
  readonly slot: SlotName;
  readonly status: SlotStatus;
  readonly modelId?: string;
  readonly path?: string;
  /** Milliseconds since 1970. */
  readonly loadedAt?: number;
  /** Why the last switch failed, also when the model before it is back. */
  readonly error?: { readonly code: string; readonly message: string };
  /** Requests that use the model now. */
  readonly requests: number;
}

/** Which models an agent uses. Switches run one after the other; requests wait for them and none is lost. */
export class ActiveModels {
  readonly #options: ActiveModelsOptions;
  readonly #slots: ReadonlyMap<SlotName, Slot> = new Map(SLOTS.map((name) => [name, new Slot(name)]));
  readonly #resolved = new Map<string, Promise<ResolvedLoad>>();
  #switches: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: ActiveModelsOptions) {
    this.#options = options;
  }

  /** Whether a slot has a model to use. */
  has(slot: SlotName): boolean {
    return this.#slot(slot).chosen !== undefined || this.#options.nameOf(slot) !== undefined;
  }

  /** Whether a switch chose the model of a slot. */
  isSwitched(slot: SlotName): boolean {
    return this.#slot(slot).chosen !== undefined;
  }

  /**
   * How the model of a slot is, or would be, loaded.
   *
   * @throws LocalInferenceError `LOCAL_INFERENCE_UNAVAILABLE` without a model; what finding and resolving it throws.
   */
  async current(slot: SlotName): Promise<ResolvedLoad> {
    const { chosen } = this.#slot(slot);
    if (chosen !== undefined) return chosen;
    const name = this.#options.nameOf(slot);
    if (name === undefined) {
      throw unavailable(
        "backend_unavailable",
        `No ${slot} model is configured.`,
        `Set ${this.#options.settingOf(slot)} to a GGUF file or a model of the catalog.`,
      );
    }
    const purpose = slot === "embedding" ? "embedding" : "text";
    const key = `${purpose} ${name}`;
    let resolved = this.#resolved.get(key);
    if (resolved === undefined) {
      resolved = this.#options.resolve(name, { purpose });
      this.#resolved.set(key, resolved);
      // What is missing now may be there for the next request.
      resolved.then(warn, () => this.#resolved.delete(key));
    }
    return resolved;
  }

  /** Runs work with the model of a slot, which stays in its place until `until`. A switch in progress is waited for. */
  async use<T>(
    slot: SlotName,
    work: (spec: TextSpec | EmbeddingSpec) => Promise<{ value: T; until?: Promise<void> }>,
    signal?: AbortSignal,
  ): Promise<T> {
    if (this.#closed) throw closedError("local-inference service");
    const place = this.#slot(slot);
    await place.enter(signal);
    let staying = false;
    try {
      const resolved = await this.current(slot);
      place.known = resolved;
      const { value, until } = await this.#timed(place, resolved, work);
      place.error = undefined;
      if (until !== undefined) {
        staying = true;
        void until.finally(() => place.leave());
      }
      return value;
    } finally {
      if (!staying) place.leave();
    }
  }

  /**
   * Makes a model active: admits it by its memory, waits for running requests, unloads the old one, loads the new one and
   * has it compute one token. When that fails the old model is loaded again.
   *
   * @throws LocalInferenceError `MODEL_NOT_FOUND`, `INVALID_INPUT` (overrides, slots of another kind), `BUSY`, a
   * {@link ModelDoesNotFitError}; what loading and decoding throw, once the old model is back.
   */
  switchTo(name: string, options: SwitchOptions = {}): Promise<SlotState[]> {
    const run = () => this.#switchTo(name, options);
    const outcome = this.#switches.then(run, run);
    this.#switches = outcome.catch(() => {});
    return outcome;
  }

  /** Frees the models of slots once their requests have ended; the next request loads them again. */
  unload(...slots: readonly SlotName[]): Promise<SlotState[]> {
    const run = async () => {
      const places = slots.map((slot) => this.#slot(slot));
      await this.#exclusively(places, async () => this.#release(places));
      return slots.map((slot) => this.state(slot));
    };
    const outcome = this.#switches.then(run, run);
    this.#switches = outcome.catch(() => {});
    return outcome;
  }

  state(slot: SlotName): SlotState {
    const place = this.#slot(slot);
    const { known, error, loadedAt } = place;
    const loaded = known !== undefined && this.#options.engine.residency(known.spec).loaded;
    return {
      slot,
      status: place.status(loaded),
      ...(known === undefined ? {} : { modelId: known.model.id, path: known.spec.path }),
      ...(loaded && loadedAt !== undefined ? { loadedAt } : {}),
      ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
      requests: place.requests,
    };
  }

  states(): SlotState[] {
    return SLOTS.map((slot) => this.state(slot));
  }

  /** Waits for a switch in progress and refuses what comes later. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const slot of this.#slots.values()) slot.open();
    await this.#switches;
  }

  async #switchTo(name: string, { slots, overrides }: SwitchOptions): Promise<SlotState[]> {
    if (this.#closed) throw closedError("local-inference service");
    const how = { purpose: purposeOf(slots), overrides: parseOverrides(overrides) };
    const first = await this.#options.resolve(name, how);
    const places = slotsFor(first, slots).map((slot) => this.#slot(slot));
    const next = await this.#admit(name, how, first, places);
    await this.#exclusively(places, () => this.#exchange(next, places));
    return places.map((place) => this.state(place.name));
  }

  /** The load as it will be once the old models have left. */
  async #admit(name: string, how: ResolveOptions, first: ResolvedLoad, places: readonly Slot[]) {
    const freed = this.#loaded(this.#leaving(places), { alone: true });
    const freedBytes = freed.reduce((sum, { fit }) => sum + fit.numbers.neededBytes, 0);
    const resolved = freedBytes === 0 ? first : await this.#options.resolve(name, { ...how, freedBytes });
    const { numbers } = resolved.fit;
    const asked = resolved.fields.contextSize.value !== "auto";
    if (asked ? numbers.fits : numbers.largestContext > 0) return resolved;
    throw new ModelDoesNotFitError(resolved, await this.#options.fittingVariant?.(resolved));
  }

  async #exchange(next: ResolvedLoad, places: readonly Slot[]): Promise<void> {
    const before = places.map((place) => ({ place, chosen: place.chosen, known: place.known }));
    const old = this.#loaded(this.#leaving(places));
    await this.#release(places);
    for (const place of places) place.chosen = place.known = next;
    try {
      await loadAndVerify(this.#options.engine, next.spec);
      for (const place of places) {
        place.loadedAt = Date.now();
        place.error = undefined;
      }
      warn(next);
    } catch (cause) {
      const error = fromNative(cause);
      await this.#options.engine.release(next.spec);
      for (const { place, chosen, known } of before) Object.assign(place, { chosen, known, error });
      if (!this.#closed) await this.#restore(old);
      throw error;
    }
  }

  /** Loads what was in memory before a failed switch. */
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

  /** Closes the doors, waits for the rooms to be empty, works, and opens the doors whatever happened. */
  async #exclusively(places: readonly Slot[], work: () => Promise<void>): Promise<void> {
    for (const place of places) place.close();
    try {
      await Promise.all(places.map((place) => place.drained(this.#options.drainMs ?? 120_000)));
      for (const place of places) place.switching = true;
      await work();
    } finally {
      for (const place of places) {
        place.switching = false;
        place.open();
      }
    }
  }

  async #release(places: readonly Slot[]): Promise<void> {
    await Promise.all(this.#leaving(places).map(({ spec }) => this.#options.engine.release(spec)));
  }

  /** Models that only these slots use. */
  #leaving(places: readonly Slot[]): ResolvedLoad[] {
    const staying = [...this.#slots.values()].filter((slot) => !places.includes(slot));
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

  /** Notes when the model came into memory. */
  async #timed<T>(
    place: Slot,
    { spec }: ResolvedLoad,
    work: (spec: TextSpec | EmbeddingSpec) => Promise<T>,
  ): Promise<T> {
    if (!this.#options.engine.residency(spec).loaded) place.loadedAt = undefined;
    const result = await work(spec);
    place.loadedAt ??= Date.now();
    return result;
  }

  #slot(name: SlotName): Slot {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new LocalInferenceError("INVALID_INPUT", `There is no slot ${name}.`);
    return slot;
  }
}

function warn({ warnings }: ResolvedLoad): void {
  for (const text of warnings) log("warn", text);
}

/** Weights that are the same and loaded in the same way. */
function keyOf({ spec }: ResolvedLoad): string {
  return JSON.stringify([spec.path, Object.entries(spec.load ?? {}).sort()]);
}
