import { unlessAborted } from "../../support/unless-aborted.js";

/** Work one after the other: two loads at once would both count on the same free memory. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  /** Whether something is being done, or waits. */
  get busy(): boolean {
    return this.#count > 0;
  }

  take<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1;
    const turn = this.#last.then(work).finally(() => {
      this.#count -= 1;
    });
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** Those who wait for the next change. */
export class Bell {
  #waiting: (() => void)[] = [];
  #rings = 0;

  /** How often it rang, to be noted before looking at what may change. */
  get rings(): number {
    return this.#rings;
  }

  ring(): void {
    this.#rings += 1;
    for (const go of this.#waiting.splice(0)) go();
  }

  /** Resolves once it has rung more than `heard` times, or at the deadline (milliseconds since 1970). @throws an `AbortError`. */
  async next(heard: number, deadline: number, signal: AbortSignal): Promise<void> {
    if (this.#rings > heard) return;
    let timer: NodeJS.Timeout | undefined;
    const ring = new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      timer = setTimeout(resolve, Math.max(0, deadline - Date.now()));
    });
    try {
      await unlessAborted(ring, signal);
    } finally {
      clearTimeout(timer);
    }
  }
}
