import type { EmbeddingSpec, Engine, TextSpec } from "../engine/engine.js";
import { closedError, fromNative, LocalInferenceError, unavailable } from "../errors.js";
import { log } from "../support/log.js";
import { purposeOf, slotsFor } from "./choose-slots.js";
import { ModelDoesNotFitError } from "./does-not-fit.js";
import { drafterFile } from "./drafting.js";
import { Exchange } from "./exchange.js";
import { parseOverrides } from "./overrides.js";
import { Resolutions, type ResolutionsOptions } from "./resolutions.js";
import type { ResolvedLoad } from "./resolve-load.js";
import { SLOTS, Slot, type SlotName, type SlotState, unlessAborted, type Wish } from "./slot.js";
import { wishOf } from "./wish.js";

/** What {@link ActiveModels} needs of its surroundings. */
export interface ActiveModelsOptions extends ResolutionsOptions {
  readonly engine: Engine;
  /** What names the model of a slot: a setting or an earlier choice. Asked for every request. */
  readonly nameOf: (slot: SlotName) => string | undefined;
  /** Which setting a user would write for a slot. */
  readonly settingOf: (slot: SlotName) => string;
  /** Throws when a model cannot take the place of the one before it. */
  readonly admit?: (slot: SlotName, resolved: ResolvedLoad) => Promise<void>;
  /** A variant of the same model that would fit. */
  readonly fittingVariant?: (resolved: ResolvedLoad) => Promise<string | undefined>;
  /** Milliseconds that a switch waits for running requests. Default 2 minutes. */
  readonly drainMs?: number;
}

export interface SwitchOptions {
  /** Default: the embedding slot for an embedding model, both text slots for any other. */
  readonly slots?: readonly SlotName[];
  /** Checked by {@link parseOverrides}. */
  readonly overrides?: unknown;
}

/** Which models an agent uses. Switches run one after the other; requests wait for them and none is lost. */
export class ActiveModels {
  readonly #options: ActiveModelsOptions;
  readonly #slots: ReadonlyMap<SlotName, Slot> = new Map(SLOTS.map((name) => [name, new Slot(name)]));
  readonly #resolutions: Resolutions;
  readonly #exchange: Exchange;
  #switches: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: ActiveModelsOptions) {
    this.#options = options;
    this.#resolutions = new Resolutions(options);
    const { engine, drainMs = 120_000 } = options;
    this.#exchange = new Exchange({ engine, drainMs, slots: [...this.#slots.values()] });
  }

  /** What names the model that a slot should use; undefined: nothing does. */
  nameOf(slot: SlotName): string | undefined {
    return this.#wish(this.#slot(slot))?.name;
  }

  /**
   * How the model that a slot should use is, or would be, loaded.
   *
   * @throws LocalInferenceError `LOCAL_INFERENCE_UNAVAILABLE` without a model; what finding and resolving it throws.
   */
  async current(slot: SlotName): Promise<ResolvedLoad> {
    const wish = this.#wish(this.#slot(slot));
    if (wish !== undefined) return this.#resolutions.of(wish.name, wish.how);
    throw unavailable(
      "backend_unavailable",
      `No ${slot} model is configured.`,
      `Set ${this.#options.settingOf(slot)} to a GGUF file or a model of the catalog.`,
    );
  }

  /**
   * Runs work with the model of a slot, which stays in its place until `until`. A switch in progress is waited for; a
   * model that was chosen, fetched or changed since the last request is exchanged first.
   */
  async use<T>(
    slot: SlotName,
    work: (spec: TextSpec | EmbeddingSpec) => Promise<{ value: T; until?: Promise<void> }>,
    signal?: AbortSignal,
  ): Promise<T> {
    if (this.#closed) throw closedError("local-inference service");
    const place = this.#slot(slot);
    const resolved = await this.#enter(place, signal);
    let staying = false;
    try {
      const { value, until } = await this.#timed(place, resolved, work);
      // Why a choice could not be followed is still to be told.
      if (place.declined === undefined && performance.now() >= place.busyUntil) place.error = undefined;
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
    return this.#inTurn(() => this.#switchTo(name, options));
  }

  /** Frees the models of slots once their requests have ended; the next request loads them again. */
  unload(...slots: readonly SlotName[]): Promise<SlotState[]> {
    return this.#inTurn(async () => {
      const places = slots.map((slot) => this.#slot(slot));
      await this.#exchange.exclusively(places, () => this.#exchange.empty(places));
      return slots.map((slot) => this.state(slot));
    });
  }

  /** Removes files while no model that needs them is in memory, and forgets the models that were loaded from them. */
  without<T>(paths: readonly string[], remove: () => Promise<T>): Promise<T> {
    return this.#inTurn(() => {
      const places = [...this.#slots.values()].filter(
        ({ known }) => known !== undefined && filesOf(known).some((path) => paths.includes(path)),
      );
      return this.#exchange.exclusively(places, async () => {
        await this.#exchange.empty(places);
        const removed = await remove();
        for (const place of places) place.forget();
        return removed;
      });
    });
  }

  state(slot: SlotName): SlotState {
    const place = this.#slot(slot);
    const { known } = place;
    return place.state(known !== undefined && this.#options.engine.residency(known.spec).loaded);
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

  /** Goes in once the model that a slot should use is the one in its place. The caller leaves. */
  async #enter(place: Slot, signal: AbortSignal | undefined): Promise<ResolvedLoad> {
    for (let attempt = 1; ; attempt += 1) {
      await place.enter(signal);
      try {
        const wanted = await this.current(place.name);
        const { known } = place;
        if (known === undefined) {
          await this.#options.admit?.(place.name, wanted);
          return take(place, wanted);
        }
        if (wanted === known) place.declined = undefined;
        // The model before it answers on: it is too busy to be exchanged, or what should follow cannot.
        if (wanted === known || place.keepsFrom(wanted) || attempt > FOLLOWING) return take(place, known);
      } catch (error) {
        place.leave();
        throw error;
      }
      place.leave();
      await unlessAborted(this.#follow(place), signal);
    }
  }

  /** Exchanges what is in memory for what should be, in every slot that should now use the same as this one. */
  #follow(place: Slot): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#closed) throw closedError("local-inference service");
      const wish = this.#wish(place);
      if (wish === undefined) return;
      const wanted = await this.#resolutions.of(wish.name, wish.how);
      const places = await this.#outdatedBy(wanted);
      if (places.length === 0) return;
      try {
        await this.#bring(wish, wanted, places);
      } catch (cause) {
        const error = fromNative(cause);
        for (const one of places) one.error = error;
        log("error", `${wanted.model.id} was chosen and cannot be used; the model before it answers on.`, {
          error: error.message,
        });
        for (const one of places) {
          if (error.code === "BUSY") one.busyUntil = performance.now() + BUSY_PAUSE_MS;
          else one.declined = wanted;
        }
      }
    });
  }

  async #outdatedBy(wanted: ResolvedLoad): Promise<Slot[]> {
    const outdated = [...this.#slots.values()].filter(
      ({ known, declined }) => known !== undefined && known !== wanted && declined !== wanted,
    );
    const now = await Promise.all(outdated.map(({ name }) => this.current(name).catch(() => undefined)));
    return outdated.filter((_, index) => now[index] === wanted);
  }

  async #switchTo(name: string, { slots, overrides }: SwitchOptions): Promise<SlotState[]> {
    if (this.#closed) throw closedError("local-inference service");
    const parsed = parseOverrides(overrides);
    const first = await this.#resolutions.of(name, { purpose: purposeOf(slots), overrides: parsed });
    const places = slotsFor(first, slots).map((slot) => this.#slot(slot));
    const purpose = "embedder" in first.spec ? "embedding" : "text";
    const wish: Wish = { name, how: { purpose, overrides: parsed } };
    await this.#bring(wish, first, places);
    for (const place of places) place.choice = { ...wish, named: this.#options.nameOf(place.name) };
    return places.map((place) => this.state(place.name));
  }

  /** Admits a model and puts it into slots. @throws LocalInferenceError with everything as it was. */
  async #bring({ name, how }: Wish, first: ResolvedLoad, places: readonly Slot[]): Promise<void> {
    for (const place of places) await this.#options.admit?.(place.name, first);
    // The load as it will be once the old models have left.
    const freedBytes = this.#exchange.bytesFreedBy(places);
    const next = freedBytes === 0 ? first : await this.#resolutions.anew(name, { ...how, freedBytes });
    const { numbers } = next.fit;
    const asked = next.fields.contextSize.value !== "auto";
    if (asked ? !numbers.fits : numbers.largestContext === 0) {
      throw new ModelDoesNotFitError(next, await this.#options.fittingVariant?.(next));
    }
    await this.#exchange.exclusively(places, () => this.#exchange.put(next, places, () => this.#closed));
    await this.#resolutions.keep(name, how, next);
    warn(next);
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

  /** One change of models after the other. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const outcome = this.#switches.then(work, work);
    this.#switches = outcome.catch(() => {});
    return outcome;
  }

  #wish(place: Slot): Wish | undefined {
    return wishOf(place, this.#options.nameOf(place.name));
  }

  #slot(name: SlotName): Slot {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new LocalInferenceError("INVALID_INPUT", `There is no slot ${name}.`);
    return slot;
  }
}

/** How long a model that could not be exchanged is left alone: requests must not wait for each attempt. */
const BUSY_PAUSE_MS = 60_000;

/** Exchanges that one request waits for: after them it is answered by the model that is there. */
const FOLLOWING = 2;

function take(place: Slot, load: ResolvedLoad): ResolvedLoad {
  if (place.known !== load) warn(load);
  place.known = load;
  return load;
}

function filesOf({ spec, fields }: ResolvedLoad): string[] {
  const drafter = drafterFile(fields);
  return drafter === undefined ? [spec.path] : [spec.path, drafter];
}

const warned = new WeakSet<ResolvedLoad>();

/** Small and large may use the same load: its warnings are said once. */
function warn(load: ResolvedLoad): void {
  if (warned.has(load)) return;
  warned.add(load);
  for (const text of load.warnings) log("warn", text);
}
