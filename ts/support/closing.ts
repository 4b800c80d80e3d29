import { closedError, type LocalInferenceError } from "../errors.js";

/** The end of an object that owns memory: it releases the memory once and refuses every use from then on. */
export class Closing {
  readonly #what: string;
  readonly #release: () => Promise<void>;
  #released: Promise<void> | undefined;
  #closed = false;

  /**
   * @param what Names the object in errors.
   * @param release Frees its memory.
   */
  constructor(what: string, release: () => Promise<void>) {
    this.#what = what;
    this.#release = release;
  }

  /** Whether `close` was called. */
  get closed(): boolean {
    return this.#closed;
  }

  /** The error of a use after the end. */
  get error(): LocalInferenceError {
    return closedError(this.#what);
  }

  /** @throws LocalInferenceError `CLOSED` */
  assertOpen(): void {
    if (this.#closed) throw this.error;
  }

  /** Resolves when the memory is free, however often it is called. */
  close(): Promise<void> {
    // Before the release begins: what it ends must see that the object is closed.
    this.#closed = true;
    this.#released ??= this.#release();
    return this.#released;
  }
}
