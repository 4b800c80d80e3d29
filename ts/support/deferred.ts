/** A promise together with the functions that settle it. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

/** A pending promise that may reject without anyone listening. */
export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  return { promise: quiet(promise), resolve, reject };
}

/** Marks a promise as handled: a rejection that nobody awaits must not end the process. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  // The prototype's `then`, because a subclass may start work when its own is called.
  Promise.prototype.then.call(promise, undefined, () => {});
  return promise;
}

/** A promise that calls `start` when somebody first waits for it. */
export class OnDemandPromise<T> extends Promise<T> {
  #start: (() => void) | undefined;

  // `then` must build plain promises: deriving from this class would pass it an executor only.
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** Follows `source`; a rejection that nobody awaits is not reported. */
  static of<T>(source: Promise<T>, start: () => void): Promise<T> {
    const promise = new OnDemandPromise<T>((resolve) => resolve(source));
    promise.#start = start;
    return quiet(promise);
  }

  // biome-ignore lint/suspicious/noThenProperty: waiting is the event this class exists to notice.
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const start = this.#start;
    this.#start = undefined;
    start?.();
    return super.then(onFulfilled, onRejected);
  }
}
