import { closedError } from "../../errors.js";
import type { Lease, UnloadReason } from "./contract.js";
import { type Entry, evictionOrder, takenBytes } from "./entry.js";
import { Journal } from "./journal.js";
import { Bell } from "./turns.js";

/** The handles in memory: how they are leased, and how they leave. */
export class Entries {
  readonly journal = new Journal();
  /** Rings when a handle becomes idle or has left. */
  readonly changes = new Bell();
  readonly #byKey = new Map<string, Entry>();
  readonly #onOccupied: (occupied: boolean) => void;
  #uses = 0;

  /** @param onOccupied Called when the first handle comes and when the last one has left. */
  constructor(onOccupied: (occupied: boolean) => void = () => {}) {
    this.#onOccupied = onOccupied;
  }

  get(key: string): Entry | undefined {
    return this.#byKey.get(key);
  }

  all(): Entry[] {
    return [...this.#byKey.values()];
  }

  /** Handles in memory or on their way there. */
  get size(): number {
    return this.all().filter(({ state }) => state !== "leaving").length;
  }

  /** Bytes of the handles that are in memory, leaving ones included. */
  get takenBytes(): number {
    return takenBytes(this.#byKey.values());
  }

  /** The order of eviction, handles in use included. */
  inEvictionOrder(): Entry[] {
    return evictionOrder(this.#byKey.values());
  }

  /** The idle handle to evict first; undefined: every handle is in use. */
  victim(): Entry | undefined {
    return this.inEvictionOrder().find((entry) => entry.idle);
  }

  add(entry: Entry): void {
    if (this.#byKey.size === 0) this.#onOccupied(true);
    this.#byKey.set(entry.request.key, entry);
  }

  /** A lease of a use that has begun; `end` ends it. */
  lease<T>(entry: Entry, value: T, end: () => void): Lease<T> {
    return {
      value,
      retain: () => {
        if (entry.state !== "ready") throw closedError(`handle ${entry.request.label}`);
        return this.lease(entry, value, this.use(entry));
      },
      release: end,
    };
  }

  /** Begins a use and returns the function that ends it, which may be called twice. */
  use(entry: Entry): () => void {
    entry.leases += 1;
    entry.used = ++this.#uses;
    entry.stopTimer();
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      entry.leases -= 1;
      if (entry.leases === 0) this.#unused(entry);
    };
  }

  /** Aborts the load of a handle or unloads it; resolves when it has left. Idempotent. */
  unload(entry: Entry, reason: UnloadReason): Promise<void> {
    entry.gone ??= this.#remove(entry, reason);
    return entry.gone;
  }

  forget(entry: Entry): void {
    if (this.#byKey.get(entry.request.key) !== entry) return;
    this.#byKey.delete(entry.request.key);
    this.changes.ring();
    if (this.#byKey.size === 0) this.#onOccupied(false);
  }

  #unused(entry: Entry): void {
    if (entry.state === "loading") void this.unload(entry, "released");
    if (entry.state !== "ready") return;
    entry.used = ++this.#uses;
    entry.whenIdleTooLong(() => void this.unload(entry, "idle"));
    this.changes.ring();
  }

  async #remove(entry: Entry, reason: UnloadReason): Promise<void> {
    const { request, loading } = entry;
    entry.state = "leaving";
    entry.stopTimer();
    loading.abort();
    try {
      await request.unload(await entry.ready);
      this.journal.add({ type: "unloaded", label: request.label, bytes: entry.bytes, reason });
    } catch {
      // The load was aborted, or the handle could not be closed: neither is there any more.
    } finally {
      this.forget(entry);
    }
  }
}
