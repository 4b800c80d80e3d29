import type { MemoryEvent, UnloadReason } from "./contract.js";

const KEPT = 32;

type WithoutTime<E> = E extends unknown ? Omit<E, "at"> : never;

/** What happened, for listeners and for whoever asks later. */
export class Journal {
  readonly unloads: Record<UnloadReason, number> = { idle: 0, room: 0, pressure: 0, released: 0, closed: 0 };
  readonly #listeners = new Set<(event: MemoryEvent) => void>();
  readonly #events: MemoryEvent[] = [];

  get events(): readonly MemoryEvent[] {
    return [...this.#events];
  }

  /** Returns the way to stop listening. */
  listen(listener: (event: MemoryEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  add(what: WithoutTime<MemoryEvent>): void {
    const event = { at: Date.now(), ...what } as MemoryEvent;
    if (event.type === "unloaded") this.unloads[event.reason] += 1;
    this.#events.push(event);
    if (this.#events.length > KEPT) this.#events.shift();
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch {
        // Someone who only watches must not keep a model from loading.
      }
    }
  }
}
