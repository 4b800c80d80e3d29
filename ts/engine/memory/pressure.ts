import type { MemoryFacts, Pressure } from "./contract.js";

/** Share of the last ten seconds, in percent, in which some or all tasks waited for memory. */
export interface Stalls {
  readonly some: number;
  readonly full: number;
}

/** Counters of a control group; they only rise. */
export interface GroupEvents {
  /** Times the group was held back at its limit. */
  readonly limited: number;
  /** Times it found no memory, or lost a process for that. */
  readonly exhausted: number;
}

/** What an operating system tells about its memory. What it does not tell is absent. */
export interface PressureSample {
  readonly facts?: MemoryFacts | undefined;
  readonly stalls?: Stalls | undefined;
  readonly events?: GroupEvents | undefined;
  /** macOS: 1 none, 2 short, 4 critical. */
  readonly level?: number | undefined;
}

const GIB = 1024 ** 3;
/** Percent of ten seconds. Loading a file larger than the free memory stalls readers too, at a few percent. */
const SOME_STALLED = 20;
const ALL_STALLED = 10;

/**
 * Free bytes below which memory is short. A context of automatic size leaves at least a quarter of a small machine and a
 * tenth of a large one free, so it never counts as pressure by itself.
 */
export function scarceBytes(totalBytes: number): number {
  return Math.min(totalBytes * 0.06, GIB);
}

/**
 * How hard memory is pressed.
 *
 * Being held back at a group's limit also happens while a large file is read, when the kernel drops cache; it counts only
 * where little is free, cache counted as free.
 */
export function judge(sample: PressureSample, before: PressureSample): Pressure {
  const { facts, stalls, events, level } = sample;
  const rose = (name: keyof GroupEvents) =>
    events !== undefined && before.events !== undefined && events[name] > before.events[name];
  if (rose("exhausted")) return { level: "critical", reason: "the control group ran out of memory" };
  if (level === 4) return { level: "critical", reason: "the system is critically short of memory" };
  const critical = scarcity(facts, 0.5);
  if (critical !== undefined) return { level: "critical", reason: critical };
  if (stalls !== undefined && stalls.full >= ALL_STALLED) {
    return { level: "critical", reason: `everything waited for memory ${stalls.full} % of the time` };
  }
  if (stalls !== undefined && stalls.some >= SOME_STALLED) {
    return { level: "moderate", reason: `tasks waited for memory ${stalls.some} % of the time` };
  }
  if (level === 2) return { level: "moderate", reason: "the system is short of memory" };
  const scarce = scarcity(facts, rose("limited") ? 2 : 1);
  if (scarce !== undefined) return { level: "moderate", reason: scarce };
  return { level: "none", reason: "memory is free" };
}

function scarcity(facts: MemoryFacts | undefined, factor: number): string | undefined {
  if (facts === undefined || facts.totalBytes === 0) return undefined;
  if (facts.availableBytes >= scarceBytes(facts.totalBytes) * factor) return undefined;
  const percent = ((facts.availableBytes / facts.totalBytes) * 100).toFixed(1);
  return `${percent} % of the memory is free`;
}
