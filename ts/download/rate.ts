/** Milliseconds that the rate looks back on. */
const WINDOW_MS = 5_000;
const SAMPLE_MS = 100;

/** Bytes per second over the last seconds, from a count that grows. */
export class RateMeter {
  #samples: { at: number; bytes: number }[] = [];

  /** Starts to measure at a count: what is there already was not received now. */
  restart(bytes: number): void {
    this.#samples = [{ at: performance.now(), bytes }];
  }

  measure(bytes: number): void {
    const at = performance.now();
    const last = this.#samples.at(-1);
    if (last !== undefined && at - last.at < SAMPLE_MS) return;
    this.#samples.push({ at, bytes });
    while (this.#samples.length > 2 && at - (this.#samples[0]?.at ?? at) > WINDOW_MS) this.#samples.shift();
  }

  get bytesPerSecond(): number {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.at === first.at) return 0;
    return Math.max(0, ((last.bytes - first.bytes) / (last.at - first.at)) * 1000);
  }
}

/** Seconds until the rest is there; undefined while nothing arrives. */
export function secondsLeft(
  receivedBytes: number,
  totalBytes: number,
  bytesPerSecond: number,
): number | undefined {
  return bytesPerSecond > 0 ? (totalBytes - receivedBytes) / bytesPerSecond : undefined;
}
