import { LocalInferenceError, throwIfAborted } from "../errors.js";
import { type Deferred, deferred } from "../support/deferred.js";
import { unlessAborted } from "../support/unless-aborted.js";

/** The lock of a role: requests share it while they use the role's model, and a switch holds it alone. */
export class RoleLock {
  #held: Deferred<void> | undefined;
  #requests = 0;
  #drained: Deferred<void> | undefined;

  /** Requests that share the lock now. */
  get requests(): number {
    return this.#requests;
  }

  /** Waits for a switch to end; the caller calls `release` once. @throws an `AbortError`. */
  async acquire(signal?: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    while (this.#held !== undefined) await unlessAborted(this.#held.promise, signal);
    this.#requests += 1;
  }

  release(): void {
    this.#requests -= 1;
    if (this.#requests === 0) this.#drained?.resolve();
  }

  /** Keeps requests waiting until `open`. */
  hold(): void {
    this.#held ??= deferred();
  }

  open(): void {
    this.#held?.resolve();
    this.#held = undefined;
  }

  /** Waits until no request shares the lock. @throws LocalInferenceError `BUSY` after `limitMs`. */
  async drained(limitMs: number, role: string): Promise<void> {
    if (this.#requests === 0) return;
    this.#drained = deferred();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(busy(role, this.#requests)), limitMs);
    });
    try {
      await Promise.race([this.#drained.promise, late]);
    } finally {
      clearTimeout(timer);
      this.#drained = undefined;
    }
  }
}

function busy(role: string, requests: number): LocalInferenceError {
  return new LocalInferenceError(
    "BUSY",
    `The ${role} model is still answering ${requests} request(s); nothing was changed.`,
    { hint: "Try again later, or cancel the requests." },
  );
}
