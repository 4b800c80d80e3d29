import { MemoryArbiter } from "../../ts/engine/memory/arbiter.js";
import type { MemoryFacts, MemoryRequest } from "../../ts/engine/memory/contract.js";
import { LocalInferenceError } from "../../ts/errors.js";
import type { MemoryRole } from "../../ts/roles.js";

export interface FakeHandle {
  readonly name: string;
  open: boolean;
}

/** A machine with so much memory, and handles that take it; a load that finds too little fails as the addon's does. */
export class FakeMemory {
  readonly total: number;
  /** What happened, in order: `+name` loaded, `-name` unloaded. */
  readonly log: string[] = [];
  readonly inMemory = new Map<string, number>();
  /** Most bytes that were taken at any time. */
  peak = 0;
  /** Loads wait for `release`. */
  hold = false;
  /** Loads take more than there is instead of failing, as where the system ends a process for that. */
  unchecked = false;
  #held: (() => void)[] = [];

  constructor(total: number) {
    this.total = total;
  }

  get used(): number {
    return [...this.inMemory.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  readonly facts = async (): Promise<MemoryFacts> => ({
    totalBytes: this.total,
    availableBytes: this.total - this.used,
  });

  release(): void {
    this.hold = false;
    for (const go of this.#held.splice(0)) go();
  }

  /** A handle of this size. `estimate` is what is believed of it before it is loaded. */
  request(
    name: string,
    role: MemoryRole,
    bytes: number,
    estimate = bytes,
    headroomBytes = 0,
  ): MemoryRequest<FakeHandle> {
    return {
      key: name,
      role,
      label: name,
      need: async () => ({ bytes: estimate, headroomBytes }),
      load: (signal) => this.#load(name, bytes, signal),
      unload: async (handle) => {
        if (!handle.open) throw new Error(`${name} is unloaded twice`);
        handle.open = false;
        await new Promise((resolve) => setImmediate(resolve));
        this.inMemory.delete(name);
        this.log.push(`-${name}`);
      },
    };
  }

  async #load(name: string, bytes: number, signal: AbortSignal): Promise<FakeHandle> {
    if (this.inMemory.has(name)) throw new Error(`${name} is loaded twice`);
    await new Promise<void>((resolve, reject) => {
      if (this.hold) this.#held.push(resolve);
      else setImmediate(resolve);
      signal.addEventListener("abort", () => reject(new LocalInferenceError("CANCELLED", "stopped")));
    });
    if (this.used + bytes > this.total && !this.unchecked) {
      throw new LocalInferenceError("OUT_OF_MEMORY", `${name} does not fit`);
    }
    this.inMemory.set(name, bytes);
    this.peak = Math.max(this.peak, this.used);
    this.log.push(`+${name}`);
    return { name, open: true };
  }
}

/** An arbiter over memory of `total` bytes, and a way to use a handle and let it go. */
export function machine(total: number, waitMs = 5_000) {
  const memory = new FakeMemory(total);
  const arbiter = new MemoryArbiter({ facts: memory.facts, waitMs });
  const touch = async (request: MemoryRequest<FakeHandle>) =>
    (await arbiter.acquire(request, { idleUnloadMs: 0 })).release();
  return { memory, arbiter, touch };
}
