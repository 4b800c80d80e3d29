import type { AnySpec } from "../engine/engine.js";
import { closedError, fromNative, LocalInferenceError, throwIfAborted, unavailable } from "../errors.js";
import { ACTIVE_ROLES, type ActiveRole, type KIND_OF, SETTING_OF } from "../roles.js";
import { log } from "../support/log.js";
import { unlessAborted } from "../support/unless-aborted.js";
import { ActiveModel, type ActiveModelState } from "./active-model.js";
import { type Choice, kindOfRoles, rolesFor } from "./choice.js";
import { drafterFile } from "./drafting.js";
import type { ResolvedLoad } from "./load-types.js";
import { parseOverrides } from "./overrides.js";
import { Resolutions, type ResolutionsOptions } from "./resolutions.js";
import { logWarnings, Switcher, type SwitcherOptions } from "./switcher.js";

/** What {@link ActiveModels} needs of its surroundings. */
export interface ActiveModelsOptions extends ResolutionsOptions, SwitcherOptions {
  /** What a setting or a remembered choice names as the model of a role. Read for every request. */
  readonly nameOf: (role: ActiveRole) => string | undefined;
}

export interface SwitchOptions {
  /** Default: `embedding` for an embedding model, `small` and `large` for any other. */
  readonly roles?: readonly ActiveRole[];
  /** Checked by {@link parseOverrides}. */
  readonly overrides?: unknown;
}

/** What a role's model is loaded with. */
export type SpecOf<R extends ActiveRole> = Extract<AnySpec, { kind: (typeof KIND_OF)[R] }>;

/** How long a model that was too busy to be replaced is left in peace: requests must not wait for each attempt. */
const BUSY_PAUSE_MS = 60_000;
/** Replacements that one request waits for; after them the current model answers it. */
const MAX_REPLACEMENTS = 2;

/** Which models an agent uses. Switches run one after the other; requests wait for them and none is lost. */
export class ActiveModels {
  readonly #options: ActiveModelsOptions;
  readonly #models: ReadonlyMap<ActiveRole, ActiveModel> = new Map(
    ACTIVE_ROLES.map((role) => [role, new ActiveModel(role)]),
  );
  readonly #resolutions: Resolutions;
  readonly #switcher: Switcher;
  #switches: Promise<unknown> = Promise.resolve();

  constructor(options: ActiveModelsOptions) {
    this.#options = options;
    this.#resolutions = new Resolutions(options);
    this.#switcher = new Switcher(options, [...this.#models.values()], this.#resolutions);
  }

  /** The name of the model that a role should use; undefined: none is chosen. */
  nameOf(role: ActiveRole): string | undefined {
    return this.#choice(this.#model(role))?.name;
  }

  /**
   * How the model that a role should use is, or would be, loaded.
   *
   * @throws LocalInferenceError `LOCAL_INFERENCE_UNAVAILABLE` without a model; what finding and resolving it throws.
   */
  async current<R extends ActiveRole>(role: R): Promise<ResolvedLoad<SpecOf<R>>> {
    const choice = this.#choice(this.#model(role));
    if (choice !== undefined) return this.#resolutions.of(choice.name, choice.how) as never;
    throw unavailable(
      "backend_unavailable",
      `No ${role} model is configured.`,
      `Set ${SETTING_OF[role]} to a GGUF file or a model of the catalog.`,
    );
  }

  /**
   * Runs work with the model of a role, which no switch replaces until `until`. Waits for a switch in progress, and first
   * replaces the model if another one was chosen, fetched or changed since the last request.
   */
  async use<T, R extends ActiveRole>(
    role: R,
    work: (spec: SpecOf<R>) => Promise<{ value: T; until?: Promise<void> }>,
    signal?: AbortSignal,
  ): Promise<T> {
    if (this.#switcher.closed) throw closedError("local-inference service");
    const model = this.#model(role);
    const load = await this.#acquire(model, signal);
    let heldLonger = false;
    try {
      const { value, until } = await this.#timed(model, load, (spec) => work(spec as SpecOf<R>));
      // The error of a choice that failed stays visible as long as that choice stands.
      if (model.failed === undefined && performance.now() >= model.busyUntil) model.error = undefined;
      if (until !== undefined) {
        heldLonger = true;
        void until.finally(() => model.lock.release());
      }
      return value;
    } finally {
      if (!heldLonger) model.lock.release();
    }
  }

  /**
   * Makes a model active: admits it by its memory, waits for running requests, unloads the old one, loads the new one and
   * has it compute one token. When that fails it loads the old model again.
   *
   * @throws LocalInferenceError `MODEL_NOT_FOUND`, `INVALID_INPUT` (overrides, roles of another kind), `BUSY`, a
   * `ModelDoesNotFitError`; what loading and decoding throw, once the old model is back.
   */
  switchTo(name: string, options: SwitchOptions = {}): Promise<ActiveModelState[]> {
    return this.#inTurn(() => this.#switchTo(name, options));
  }

  /** Frees the models of roles once their requests have ended; the next request loads them again. */
  unload(...roles: readonly ActiveRole[]): Promise<ActiveModelState[]> {
    return this.#inTurn(async () => {
      const models = roles.map((role) => this.#model(role));
      await this.#switcher.exclusively(models, () => this.#switcher.unload(models));
      return roles.map((role) => this.state(role));
    });
  }

  /** Removes files while no model that needs them is in memory, and forgets the models that were loaded from them. */
  without<T>(paths: readonly string[], remove: () => Promise<T>): Promise<T> {
    return this.#inTurn(() => {
      const models = [...this.#models.values()].filter(
        ({ load }) => load !== undefined && filesOf(load).some((path) => paths.includes(path)),
      );
      return this.#switcher.exclusively(models, async () => {
        await this.#switcher.unload(models);
        const removed = await remove();
        for (const model of models) model.forget();
        return removed;
      });
    });
  }

  state(role: ActiveRole): ActiveModelState {
    const model = this.#model(role);
    const { load } = model;
    return model.state(load !== undefined && this.#options.engine.residency(load.spec).loaded);
  }

  states(): ActiveModelState[] {
    return ACTIVE_ROLES.map((role) => this.state(role));
  }

  /** Waits for a switch in progress and refuses what comes later. */
  async close(): Promise<void> {
    this.#switcher.closed = true;
    for (const { lock } of this.#models.values()) lock.open();
    await this.#switches;
  }

  /**
   * Acquires the lock of a role once its load is the one to use, and returns that load; the caller releases the lock. A
   * replacement needs the lock for itself: the request releases it, waits for the replacement, and looks again.
   */
  async #acquire(model: ActiveModel, signal: AbortSignal | undefined): Promise<ResolvedLoad> {
    for (let attempt = 1; ; attempt += 1) {
      await model.lock.acquire(signal);
      try {
        const wanted = await this.current(model.role);
        const { load } = model;
        if (load === undefined) {
          // The role's first model needs no replacement: this request loads it.
          await this.#options.admit?.(model.role, wanted);
          return use(model, wanted);
        }
        if (wanted === load) {
          // The choice is in use; one that failed before is history.
          model.failed = undefined;
          return use(model, load);
        }
        // The wanted load failed before, or the current one was too busy to be replaced: the current one answers.
        if (model.keepsInsteadOf(wanted)) return use(model, load);
        // The choice changed again during every replacement: the current load answers, so that the request ends.
        if (attempt > MAX_REPLACEMENTS) return use(model, load);
      } catch (error) {
        // Finding or admitting the wanted model failed, and the request with it.
        model.lock.release();
        throw error;
      }
      model.lock.release();
      throwIfAborted(signal);
      await unlessAborted(this.#replaceOutdated(model), signal);
    }
  }

  /** Loads what a role should use into it and into every other role that should now use the same. */
  #replaceOutdated(model: ActiveModel): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#switcher.closed) throw closedError("local-inference service");
      const choice = this.#choice(model);
      if (choice === undefined) return;
      const wanted = await this.#resolutions.of(choice.name, choice.how);
      const models = await this.#outdatedBy(wanted);
      if (models.length === 0) return;
      try {
        await this.#switcher.activate(choice, wanted, models);
      } catch (cause) {
        const error = fromNative(cause);
        log("error", `${wanted.model.id} was chosen and cannot be used; the model before it answers on.`, {
          error: error.message,
        });
        for (const one of models) {
          one.error = error;
          if (error.code === "BUSY") one.busyUntil = performance.now() + BUSY_PAUSE_MS;
          else one.failed = wanted;
        }
      }
    });
  }

  async #outdatedBy(wanted: ResolvedLoad): Promise<ActiveModel[]> {
    const outdated = [...this.#models.values()].filter(
      ({ load, failed }) => load !== undefined && load !== wanted && failed !== wanted,
    );
    const now = await Promise.all(outdated.map(({ role }) => this.current(role).catch(() => undefined)));
    return outdated.filter((_, index) => now[index] === wanted);
  }

  async #switchTo(name: string, { roles, overrides }: SwitchOptions): Promise<ActiveModelState[]> {
    if (this.#switcher.closed) throw closedError("local-inference service");
    const parsed = parseOverrides(overrides);
    const first = await this.#resolutions.of(name, { kind: kindOfRoles(roles), overrides: parsed });
    const models = rolesFor(first, roles).map((role) => this.#model(role));
    const choice: Choice = { name, how: { kind: first.spec.kind, overrides: parsed } };
    await this.#switcher.activate(choice, first, models);
    for (const model of models) {
      model.switched = { ...choice, configured: this.#options.nameOf(model.role) };
    }
    return models.map(({ role }) => this.state(role));
  }

  /** Notes when the model came into memory. */
  async #timed<T>(
    model: ActiveModel,
    { spec }: ResolvedLoad,
    work: (spec: AnySpec) => Promise<T>,
  ): Promise<T> {
    if (!this.#options.engine.residency(spec).loaded) model.loadedAt = undefined;
    const result = await work(spec);
    model.loadedAt ??= Date.now();
    return result;
  }

  /** One change of models after the other. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const outcome = this.#switches.then(work, work);
    this.#switches = outcome.catch(() => {});
    return outcome;
  }

  #choice(model: ActiveModel): Choice | undefined {
    return model.choice(this.#options.nameOf(model.role));
  }

  #model(role: ActiveRole): ActiveModel {
    const model = this.#models.get(role);
    if (model !== undefined) return model;
    throw new LocalInferenceError("INVALID_INPUT", `There is no role ${role} with an active model.`, {
      hint: `Roles are ${ACTIVE_ROLES.join(", ")}.`,
    });
  }
}

function use(model: ActiveModel, load: ResolvedLoad): ResolvedLoad {
  if (model.load !== load) logWarnings(load);
  model.load = load;
  return load;
}

function filesOf({ spec, fields }: ResolvedLoad): string[] {
  const drafter = drafterFile(fields);
  return drafter === undefined ? [spec.path] : [spec.path, drafter];
}
