import type { LocalInferenceError } from "../errors.js";
import { type ActiveRole, KIND_OF } from "../roles.js";
import type { Choice, SwitchChoice } from "./choice.js";
import type { ResolvedLoad } from "./load-types.js";
import { RoleLock } from "./role-lock.js";

/** `idle`: not in memory. `error`: the last attempt failed and no model could be put back. */
export type ActiveModelStatus = "idle" | "loading" | "ready" | "error";

export interface ActiveModelState {
  readonly role: ActiveRole;
  readonly status: ActiveModelStatus;
  readonly modelId?: string;
  readonly path?: string;
  /** Milliseconds since 1970. */
  readonly loadedAt?: number;
  /** Why the last switch failed, also when the model before it is back. */
  readonly error?: { readonly code: string; readonly message: string };
  /** Requests that use the model now. */
  readonly requests: number;
}

/** The active model of one role, and the lock that requests share while they use it. */
export class ActiveModel {
  readonly role: ActiveRole;
  readonly lock = new RoleLock();
  /** What a switch chose; it outranks the settings. */
  switched: SwitchChoice | undefined;
  /** The load in use: in memory, or loaded again by the next request. */
  load: ResolvedLoad | undefined;
  /** The load that should replace `load` and failed; it is not tried again until another one is chosen. */
  failed: ResolvedLoad | undefined;
  /** `performance.now()` before which `load` is not replaced without a switch: it was too busy the last time. */
  busyUntil = 0;
  switching = false;
  loadedAt: number | undefined;
  error: LocalInferenceError | undefined;

  constructor(role: ActiveRole) {
    this.role = role;
  }

  /**
   * What the role should use: the choice of a switch, unless the settings have come to name another model since; otherwise
   * what those name.
   *
   * @param configured What the settings or the remembered choice name; undefined: nothing.
   */
  choice(configured: string | undefined): Choice | undefined {
    const { switched } = this;
    if (switched !== undefined) {
      if (configured === switched.name) switched.configured = configured;
      // A remembered choice that cannot be read for a moment takes no model away.
      if (configured === undefined || configured === switched.configured) return switched;
      this.switched = undefined;
    }
    return configured === undefined ? undefined : { name: configured, how: { kind: KIND_OF[this.role] } };
  }

  /** Whether the current load stays although `wanted` should replace it. */
  keepsInsteadOf(wanted: ResolvedLoad): boolean {
    return wanted === this.failed || performance.now() < this.busyUntil;
  }

  /** Forgets the model, whose files are gone, and a switch that chose it. */
  forget(): void {
    this.switched = this.load = this.failed = this.error = this.loadedAt = undefined;
  }

  /** @param loaded Whether the model is in memory. */
  state(loaded: boolean): ActiveModelState {
    const { role, load, error, loadedAt, lock } = this;
    return {
      role,
      status: this.#status(loaded),
      ...(load === undefined ? {} : { modelId: load.model.id, path: load.spec.path }),
      ...(loaded && loadedAt !== undefined ? { loadedAt } : {}),
      ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
      requests: lock.requests,
    };
  }

  #status(loaded: boolean): ActiveModelStatus {
    if (this.switching || (this.lock.requests > 0 && !loaded)) return "loading";
    if (loaded) return "ready";
    return this.error === undefined ? "idle" : "error";
  }
}
