import { closedError } from "../errors.js";
import type { Samples } from "./samples.js";
import type { VadEvent } from "./vad-event.js";

export interface VadStreamOptions {
  /** Also deliver an event for every 32 ms. Default true. */
  windows?: boolean;
  /**
   * Most events that wait to be read, 1 or more. Beyond, the oldest `window` events are left out: those of segments never
   * are. Default 1,024, which is 33 s.
   */
  maxWaiting?: number;
}

/** The detector behind a stream: what a stream needs of it. */
interface Source {
  push(samples: Samples): VadEvent[];
  finish(): VadEvent[];
  reset(): void;
}

/**
 * Events of one stream of sound. The producer calls `pushFrame`, which judges at once; the consumer iterates. A slow consumer
 * never slows the producer down (a microphone does not wait); it loses `window` events, never segments.
 */
export class VadStream implements AsyncIterableIterator<VadEvent>, Disposable {
  readonly #source: Source;
  readonly #windows: boolean;
  readonly #maxWaiting: number;
  #waiting: VadEvent[] = [];
  #readers: ((result: IteratorResult<VadEvent, undefined>) => void)[] = [];
  #ended = false;

  /** @internal Use `vad.stream()`. */
  constructor(source: Source, options: VadStreamOptions) {
    this.#source = source;
    this.#windows = options.windows ?? true;
    this.#maxWaiting = Math.max(1, options.maxWaiting ?? 1024);
  }

  /** Appends sound. @throws LocalInferenceError `INVALID_INPUT`, `CLOSED` */
  pushFrame(samples: Samples): void {
    if (this.#ended) throw closedError("stream");
    this.#deliver(this.#source.push(samples));
  }

  /** Ends an open segment, as if the sound ended here; more may follow. */
  flush(): void {
    if (this.#ended) throw closedError("stream");
    this.#deliver(this.#source.finish());
  }

  /** No more sound will come: ends an open segment, then the iteration. Idempotent. */
  endInput(): void {
    if (this.#ended) return;
    this.#deliver(this.#source.finish());
    this.#end();
  }

  /** Leaves the stream at once: what waits is dropped, and the detector is ready for another one. Idempotent. */
  close(): void {
    if (this.#ended) return;
    this.#waiting = [];
    this.#source.reset();
    this.#end();
  }

  next(): Promise<IteratorResult<VadEvent, undefined>> {
    const value = this.#waiting.shift();
    if (value !== undefined) return Promise.resolve({ value, done: false });
    if (this.#ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  return(): Promise<IteratorResult<VadEvent, undefined>> {
    this.close();
    this.#waiting = [];
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #deliver(events: readonly VadEvent[]): void {
    for (const event of events) {
      if (event.kind === "window" && !this.#windows) continue;
      const reader = this.#readers.shift();
      if (reader === undefined) this.#waiting.push(event);
      else reader({ value: event, done: false });
    }
    for (let excess = this.#waiting.length - this.#maxWaiting; excess > 0; excess -= 1) {
      const oldest = this.#waiting.findIndex((event) => event.kind === "window");
      if (oldest < 0) return;
      this.#waiting.splice(oldest, 1);
    }
  }

  #end(): void {
    this.#ended = true;
    for (const reader of this.#readers.splice(0)) reader({ value: undefined, done: true });
  }
}
