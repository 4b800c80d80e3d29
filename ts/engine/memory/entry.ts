import { MEMORY_ROLES, type MemoryRole } from "../../roles.js";
import type { MemoryEntry, MemoryOwner, MemoryRequest } from "./contract.js";

/** One handle with those who keep it (owners) and those who use it now (leases). */
export class Entry {
  readonly request: MemoryRequest<unknown>;
  readonly owners = new Set<MemoryOwner>();
  readonly loading = new AbortController();
  role: MemoryRole;
  state: MemoryEntry["state"] = "loading";
  /** Bytes, by the estimate before the load. */
  estimate = 0;
  leases = 0;
  /** Number of the last use among all uses of the process. */
  used = 0;
  /** Set by the arbiter as soon as the load has begun. */
  ready: Promise<unknown> = Promise.resolve();
  /** Resolves when a leaving handle has left. */
  gone: Promise<void> | undefined;
  #value: { readonly loaded: unknown } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(request: MemoryRequest<unknown>) {
    this.request = request;
    this.role = request.role;
  }

  get idle(): boolean {
    return this.state === "ready" && this.leases === 0;
  }

  get bytes(): number {
    const { size } = this.request;
    return this.#value === undefined || size === undefined ? this.estimate : size(this.#value.loaded);
  }

  loaded(value: unknown): void {
    this.#value = { loaded: value };
    this.state = "ready";
  }

  /** A handle that serves two roles is as precious as the more precious one. */
  serves(role: MemoryRole): void {
    if (MEMORY_ROLES[role] > MEMORY_ROLES[this.role]) this.role = role;
  }

  /** Calls back once the most patient owner has waited long enough. */
  whenIdleTooLong(callback: () => void): void {
    clearTimeout(this.#timer);
    const patience = [...this.owners].map((owner) => owner.idleUnloadMs);
    if (patience.length === 0 || patience.includes(0)) return;
    this.#timer = setTimeout(callback, Math.max(...patience)).unref();
  }

  stopTimer(): void {
    clearTimeout(this.#timer);
  }

  describe(): MemoryEntry {
    const { role, state, bytes, leases, owners } = this;
    const { label } = this.request;
    return { label, role, priority: MEMORY_ROLES[role], state, bytes, leases, owners: owners.size };
  }
}

/** The order of eviction: the lowest priority first, within one the longest unused. */
export function evictionOrder(entries: Iterable<Entry>): Entry[] {
  return [...entries].sort((a, b) => MEMORY_ROLES[a.role] - MEMORY_ROLES[b.role] || a.used - b.used);
}

/** Bytes of the handles that are in memory, on their way out too. */
export function takenBytes(entries: Iterable<Entry>): number {
  const present = [...entries].filter(({ state }) => state !== "loading");
  return present.reduce((sum, { bytes }) => sum + bytes, 0);
}
