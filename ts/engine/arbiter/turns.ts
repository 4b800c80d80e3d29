import { unlessAborted } from "../unless-aborted.js";

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

  ring(): void {
    for (const go of this.#waiting.splice(0)) go();
  }

  /** Resolves at the next ring or at the deadline (milliseconds since 1970). @throws an `AbortError`. */
  async next(deadline: number, signal: AbortSignal): Promise<void> {
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
