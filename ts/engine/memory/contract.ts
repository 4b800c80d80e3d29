import type { MemoryRole } from "../../roles.js";

/** Milliseconds without use after which a handle leaves memory, where its owner does not say: 15 minutes. */
export const DEFAULT_IDLE_UNLOAD_MS = 15 * 60_000;

/** Who keeps handles in memory, with its own patience for idle ones. */
export interface MemoryOwner {
  /** Milliseconds without use after which a handle may leave; 0: it stays while this owner lives. */
  readonly idleUnloadMs: number;
}

/** Bytes that loading takes, and bytes that must be left free beside it. */
export interface MemoryNeed {
  readonly bytes: number;
  readonly headroomBytes: number;
}

/** How a handle comes into memory and leaves it. Requests with the same key share one handle. */
export interface MemoryRequest<T> {
  readonly key: string;
  readonly role: MemoryRole;
  /** Name for people; no path. */
  readonly label: string;
  /** An estimate; a failure counts as unknown, and the load decides. */
  readonly need: () => Promise<MemoryNeed>;
  /** The signal fires when nobody waits for the handle any more. */
  readonly load: (signal: AbortSignal) => Promise<T>;
  readonly unload: (value: T) => Promise<void>;
  /** What a loaded handle takes now. Default: the estimate. */
  readonly size?: (value: T) => number;
}

/** The use of a handle: while there is one, the handle is not evicted. */
export interface Lease<T> {
  readonly value: T;
  /** Another use of the same handle, ended on its own. */
  retain(): Lease<T>;
  /** Ends this use. Idempotent. */
  release(): void;
}

/** Bytes of this machine, container limits counted. */
export interface MemoryFacts {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

export type PressureLevel = "none" | "moderate" | "critical";

export interface Pressure {
  readonly level: PressureLevel;
  /** What was measured, for people. */
  readonly reason: string;
}

/** Why a handle left memory. */
export type UnloadReason = "idle" | "room" | "pressure" | "released" | "closed";

export type MemoryEvent = { /** Milliseconds since 1970. */ readonly at: number } & (
  | { readonly type: "loading" | "loaded"; readonly label: string; readonly bytes: number }
  | { readonly type: "failed"; readonly label: string; readonly message: string }
  | {
      readonly type: "unloaded";
      readonly label: string;
      readonly bytes: number;
      readonly reason: UnloadReason;
    }
  | { readonly type: "pressure"; readonly level: PressureLevel; readonly reason: string }
);

/** A handle as it is now. */
export interface MemoryEntry {
  readonly label: string;
  readonly role: MemoryRole;
  readonly priority: number;
  readonly state: "loading" | "ready" | "leaving";
  /** Bytes it takes, or is estimated to take. */
  readonly bytes: number;
  /** Uses at this moment. */
  readonly leases: number;
  readonly owners: number;
}

export interface MemorySnapshot {
  /** In the order in which they would be evicted if they were idle. */
  readonly entries: readonly MemoryEntry[];
  readonly bytes: number;
  readonly pressure: Pressure;
  /** Handles that left since the process started, by reason. */
  readonly unloads: Readonly<Record<UnloadReason, number>>;
  /** The newest 32, oldest first. */
  readonly events: readonly MemoryEvent[];
}
