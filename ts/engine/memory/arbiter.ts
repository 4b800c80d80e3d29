import { abortError, closedError, codeOf, throwIfAborted } from "../../errors.js";
import { quiet } from "../../support/deferred.js";
import { unlessAborted } from "../../support/unless-aborted.js";
import type {
  Lease,
  MemoryEvent,
  MemoryFacts,
  MemoryNeed,
  MemoryOwner,
  MemoryRequest,
  MemorySnapshot,
  Pressure,
} from "./contract.js";
import { Entries } from "./entries.js";
import { Entry } from "./entry.js";
import { Turns } from "./turns.js";

export interface ArbiterOptions {
  /** Memory as it is now; undefined: unknown, and loads decide by themselves. */
  readonly facts: () => Promise<MemoryFacts | undefined>;
  /** Longest wait for handles in use when a load does not fit beside them, in milliseconds. Default 1 minute. */
  readonly waitMs?: number;
  /** Called when the first handle comes and when the last one has left. */
  readonly onOccupied?: (occupied: boolean) => void;
}

/**
 * Decides what stays in memory, for every model handle of a process.
 *
 * A handle is loaded once for all who ask for the same key, kept while it is used, and afterwards until its owners lose
 * patience. When a load does not fit, idle handles leave first: the lowest priority first, within one the longest
 * unused. Handles in use never leave; a load that fits only beside fewer of them waits for them.
 */
export class MemoryArbiter implements AsyncDisposable {
  readonly #options: ArbiterOptions;
  readonly #entries: Entries;
  readonly #loads = new Turns();
  #pressure: Pressure = { level: "none", reason: "not measured yet" };
  #closed = false;

  constructor(options: ArbiterOptions) {
    this.#options = options;
    this.#entries = new Entries(options.onOccupied);
  }

  /** Handles in memory or on their way there. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether a handle is being loaded. */
  get busy(): boolean {
    return this.#loads.busy;
  }

  /**
   * Uses a handle, loading it when it is not in memory; calls at the same time share one load. A load that nobody waits
   * for any more is given up.
   *
   * @throws LocalInferenceError what the load throws; `CLOSED`; an `AbortError` when the signal fires.
   */
  async acquire<T>(request: MemoryRequest<T>, owner: MemoryOwner, signal?: AbortSignal): Promise<Lease<T>> {
    let entry: Entry | undefined;
    for (;;) {
      if (this.#closed) throw closedError("memory arbiter");
      throwIfAborted(signal);
      entry = this.#entries.get(request.key);
      if (entry?.gone === undefined) break;
      await unlessAborted(entry.gone, signal);
    }
    entry ??= this.#start(request as MemoryRequest<unknown>);
    entry.owners.add(owner);
    entry.serves(request.role);
    const end = this.#entries.use(entry);
    try {
      return this.#entries.lease(entry, (await unlessAborted(entry.ready, signal)) as T, end);
    } catch (error) {
      // Somebody let go of the handle for all, not this caller of its own wait.
      const released = entry.loading.signal.aborted && signal?.aborted !== true;
      end();
      throw released ? closedError(`handle ${request.label}`) : error;
    }
  }

  /**
   * Runs work that takes memory beside what is loaded, such as opening a context. As long as it fails with
   * `OUT_OF_MEMORY` idle handles leave, one after the other, and it is tried again.
   */
  async withRoom<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const victim = codeOf(error) === "OUT_OF_MEMORY" ? this.#entries.victim() : undefined;
        if (victim === undefined) throw error;
        await this.#entries.unload(victim, "room");
      }
    }
  }

  /**
   * Takes an owner's claim off one handle, or off all. Those that nobody else claims leave; a single one also while it
   * is used. Resolves when they have left.
   */
  async disown(owner: MemoryOwner, key?: string): Promise<void> {
    const entries = this.#entries
      .all()
      .filter((entry) => (key === undefined || entry.request.key === key) && entry.owners.delete(owner));
    const orphans = entries.filter(({ owners }) => owners.size === 0);
    await Promise.all(orphans.map((entry) => this.#entries.unload(entry, "released")));
  }

  /** Whether a handle is in memory, and whether others own it too. */
  residency(owner: MemoryOwner, key: string): { loaded: boolean; shared: boolean } {
    const entry = this.#entries.get(key);
    if (entry?.state !== "ready") return { loaded: false, shared: false };
    return { loaded: true, shared: [...entry.owners].some((one) => one !== owner) };
  }

  /** Answers pressure: one idle handle leaves when it is moderate, all when it is critical. Resolves to how many left. */
  async relieve(pressure: Pressure): Promise<number> {
    const before = this.#pressure.level;
    this.#pressure = pressure;
    if (pressure.level !== before) this.#entries.journal.add({ type: "pressure", ...pressure });
    if (pressure.level === "none") return 0;
    const idle = this.#entries.inEvictionOrder().filter((entry) => entry.idle);
    const leaving = pressure.level === "critical" ? idle : idle.slice(0, 1);
    await Promise.all(leaving.map((entry) => this.#entries.unload(entry, "pressure")));
    return leaving.length;
  }

  /** Calls back with everything that happens from now on; returns the way to stop that. */
  listen(listener: (event: MemoryEvent) => void): () => void {
    return this.#entries.journal.listen(listener);
  }

  snapshot(): MemorySnapshot {
    const entries = this.#entries.inEvictionOrder().map((entry) => entry.describe());
    return {
      entries,
      bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
      pressure: this.#pressure,
      unloads: { ...this.#entries.journal.unloads },
      events: this.#entries.journal.events,
    };
  }

  /** Unloads everything and refuses what comes later. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#entries.all().map((entry) => this.#entries.unload(entry, "closed")));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #start(request: MemoryRequest<unknown>): Entry {
    const entry = new Entry(request);
    this.#entries.add(entry);
    entry.ready = quiet(
      this.#load(entry).catch((error: unknown) => {
        this.#entries.forget(entry);
        const message = error instanceof Error ? error.message : String(error);
        const givenUp = entry.loading.signal.aborted;
        if (!givenUp) this.#entries.journal.add({ type: "failed", label: request.label, message });
        throw error;
      }),
    );
    return entry;
  }

  async #load(entry: Entry): Promise<unknown> {
    const { signal } = entry.loading;
    const need = await entry.request.need().catch(() => undefined);
    entry.estimate = need?.bytes ?? 0;
    const deadline = Date.now() + (this.#options.waitMs ?? 60_000);
    for (;;) {
      const heard = this.#entries.changes.rings;
      const value = await this.#loads.take(async () => {
        throwIfAborted(signal);
        const missing = need === undefined ? 0 : await this.#makeRoom(need);
        const worthIt = missing > 0 && missing <= this.#entries.takenBytes;
        if (worthIt && Date.now() < deadline) return undefined;
        return { loaded: await this.#loadNow(entry) };
      });
      if (value !== undefined) return value.loaded;
      await this.#entries.changes.next(heard, deadline, signal);
    }
  }

  async #loadNow(entry: Entry): Promise<unknown> {
    const { request, loading } = entry;
    this.#entries.journal.add({ type: "loading", label: request.label, bytes: entry.estimate });
    const value = await this.withRoom(() => request.load(loading.signal));
    if (loading.signal.aborted) {
      await request.unload(value);
      throw abortError(loading.signal);
    }
    entry.loaded(value);
    this.#entries.journal.add({ type: "loaded", label: request.label, bytes: entry.bytes });
    return value;
  }

  /** Lets idle handles leave until there is room; resolves to the bytes that are missing all the same. */
  async #makeRoom({ bytes, headroomBytes }: MemoryNeed): Promise<number> {
    const before = await this.#facts();
    let freed = 0;
    for (let now = before; before !== undefined && now !== undefined; now = await this.#facts()) {
      // Mapped weights count as free although they are needed while their model is loaded, and as used although they can
      // be dropped once it has left: what the handles take is known better than that.
      const measured = Math.max(before.availableBytes + freed, now.availableBytes);
      const missing = bytes + headroomBytes - Math.min(measured, now.totalBytes - this.#entries.takenBytes);
      if (missing <= 0) return 0;
      const victim = this.#entries.victim();
      if (victim === undefined) return missing;
      freed += victim.bytes;
      await this.#entries.unload(victim, "room");
    }
    // Without facts the load itself decides.
    return 0;
  }

  #facts(): Promise<MemoryFacts | undefined> {
    return this.#options.facts().catch(() => undefined);
  }
}
