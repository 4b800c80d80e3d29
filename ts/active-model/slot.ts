import { type Deferred, deferred } from "../engine/deferred.js";
import { abortError, LocalInferenceError, throwIfAborted } from "../errors.js";
import type { ResolvedLoad } from "./resolve-load.js";

/** What a model is used for. */
export const SLOTS = ["small", "large", "embedding"] as const;
export type SlotName = (typeof SLOTS)[number];

/** `idle`: not in memory. `error`: the last attempt failed and no model could be put back. */
export type SlotStatus = "idle" | "loading" | "ready" | "error";

/** One use of a model: who uses it now, and the door that is closed while it is exchanged. */
export class Slot {
  readonly name: SlotName;
  /** The model that a switch put here; it goes before the settings. */
  chosen: ResolvedLoad | undefined;
  /** The model that was used last. */
  known: ResolvedLoad | undefined;
  switching = false;
  loadedAt: number | undefined;
  error: LocalInferenceError | undefined;
  #door: Deferred<void> | undefined;
  #inside = 0;
  #empty: Deferred<void> | undefined;

  constructor(name: SlotName) {
    this.name = name;
  }

  /** Requests that use the model now. */
  get requests(): number {
    return this.#inside;
  }

  status(loaded: boolean): SlotStatus {
    if (this.switching || (this.#inside > 0 && !loaded)) return "loading";
    if (loaded) return "ready";
    return this.error === undefined ? "idle" : "error";
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
}

async function unlessAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
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
