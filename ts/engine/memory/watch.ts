import type { MemoryArbiter } from "./arbiter.js";
import { judge, type PressureSample } from "./pressure.js";

export interface WatchOptions {
  readonly sample: () => Promise<PressureSample>;
  /** Milliseconds between two looks. Default 3 seconds. */
  readonly intervalMs?: number;
  /** Milliseconds after an eviction in which moderate pressure causes no other: its averages lag. Default 10 seconds. */
  readonly pauseMs?: number;
  readonly now?: () => number;
}

/** Looks at the memory of the system and has the arbiter answer. Keeps no process alive. */
export class PressureWatch {
  readonly #arbiter: Pick<MemoryArbiter, "relieve" | "busy">;
  readonly #options: WatchOptions;
  #before: PressureSample = {};
  #pausedUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(arbiter: Pick<MemoryArbiter, "relieve" | "busy">, options: WatchOptions) {
    this.#arbiter = arbiter;
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.look(), this.#options.intervalMs ?? 3_000).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#before = {};
  }

  /** Looks once. Never rejects: what cannot be measured is no pressure. */
  async look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const sample = await this.#options.sample();
      const pressure = judge(sample, this.#before);
      this.#before = sample;
      const now = (this.#options.now ?? Date.now)();
      const waits = this.#arbiter.busy || now < this.#pausedUntil;
      if (pressure.level === "moderate" && waits) return;
      const left = await this.#arbiter.relieve(pressure);
      if (left > 0) this.#pausedUntil = now + (this.#options.pauseMs ?? 10_000);
    } catch {
      // The next look may succeed.
    } finally {
      this.#looking = false;
    }
  }
}
