import { abortError, LocalInferenceError, throwIfAborted } from "../errors.js";
import { type Deferred, deferred } from "../support/deferred.js";
import type { LoadOverrides } from "./overrides.js";
import type { Purpose, ResolvedLoad } from "./resolve-load.js";

/** What a model is used for. */
export const SLOTS = ["small", "large", "embedding"] as const;
export type SlotName = (typeof SLOTS)[number];

/** `idle`: not in memory. `error`: the last attempt failed and no model could be put back. */
export type SlotStatus = "idle" | "loading" | "ready" | "error";

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

/** What a slot should use. */
export interface Wish {
  /** As a setting names a model. */
  readonly name: string;
  readonly how: { readonly purpose: Purpose; readonly overrides?: LoadOverrides };
}

/** A model that a switch chose. */
export interface Choice extends Wish {
  /** What the settings or the remembered choice named at that time: another name since then is a newer choice. */
  named: string | undefined;
}

/** One use of a model: who uses it now, and the door that is closed while it is exchanged. */
export class Slot {
  readonly name: SlotName;
  /** What a switch put here; it goes before the settings. */
  choice: Choice | undefined;
  /** The model that is used: in memory, or loaded again by the next request. */
  known: ResolvedLoad | undefined;
  /** What should be used and could not be; `known` stays until something else should. */
  declined: ResolvedLoad | undefined;
  /** Until then nothing is exchanged without a request for it: the model was too busy the last time. */
  busyUntil = 0;
  switching = false;
  loadedAt: number | undefined;
  error: LocalInferenceError | undefined;
  #door: Deferred<void> | undefined;
  #inside = 0;
  #empty: Deferred<void> | undefined;

  constructor(name: SlotName) {
    this.name = name;
  }

  /** Forgets the model, whose files are gone, and a switch that chose it. */
  forget(): void {
    this.choice = this.known = this.declined = this.error = this.loadedAt = undefined;
  }

  /** Whether another model than this load stays here although this one should be used. */
  keepsFrom(wanted: ResolvedLoad): boolean {
    return wanted === this.declined || performance.now() < this.busyUntil;
  }

  /** Requests that use the model now. */
  get requests(): number {
    return this.#inside;
  }

  /** @param loaded Whether the model is in memory. */
  state(loaded: boolean): SlotState {
    const { name: slot, known, error, loadedAt, requests } = this;
    return {
      slot,
      status: this.#status(loaded),
      ...(known === undefined ? {} : { modelId: known.model.id, path: known.spec.path }),
      ...(loaded && loadedAt !== undefined ? { loadedAt } : {}),
      ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
      requests,
    };
  }

  /** Waits for an open door and goes in; the caller calls `leave` once. */
  async enter(signal?: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    while (this.#door !== undefined) await unlessAborted(this.#door.promise, signal);
    this.#inside += 1;
  }

  leave(): void {
    this.#inside -= 1;
    if (this.#inside === 0) this.#empty?.resolve();
  }

  close(): void {
    this.#door ??= deferred();
  }

  open(): void {
    this.#door?.resolve();
    this.#door = undefined;
  }

  /** Waits until everybody has left. @throws LocalInferenceError `BUSY` after `limitMs`. */
  async drained(limitMs: number): Promise<void> {
    if (this.#inside === 0) return;
    this.#empty = deferred();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const busy = () =>
        reject(
          new LocalInferenceError(
            "BUSY",
            `The ${this.name} model is still answering ${this.#inside} request(s); nothing was changed.`,
            { hint: "Try again later, or stop the requests." },
          ),
        );
      timer = setTimeout(busy, limitMs);
    });
    try {
      await Promise.race([this.#empty.promise, late]);
    } finally {
      clearTimeout(timer);
      this.#empty = undefined;
    }
  }

  #status(loaded: boolean): SlotStatus {
    if (this.switching || (this.#inside > 0 && !loaded)) return "loading";
    if (loaded) return "ready";
    return this.error === undefined ? "idle" : "error";
  }
}

/** Waits for something; the signal ends the waiting only. */
export async function unlessAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise;
  let stop: () => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(abortError(signal));
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
