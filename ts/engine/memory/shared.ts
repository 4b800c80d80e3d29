import type { HardwareFacts } from "../../native/addon.js";
import { backendInfo, hardwareFacts } from "../../native/machine.js";
import { MemoryArbiter } from "./arbiter.js";
import type { MemoryFacts, Pressure } from "./contract.js";
import { linuxSample } from "./linux.js";
import { judge } from "./pressure.js";
import { PressureWatch } from "./watch.js";

/** The number rises when the interface of the arbiter changes: copies of this package share one only if they agree. */
const PLACE = Symbol.for("@elizaos/plugin-local-inference/memory-arbiter/1");

/**
 * The arbiter of this process. Every agent, every plugin and every copy of this package gets the same one, so that none
 * takes memory that another one could give back.
 */
export function memoryArbiter(): MemoryArbiter {
  const shared = globalThis as { [PLACE]?: MemoryArbiter };
  shared[PLACE] ??= watchedArbiter();
  return shared[PLACE];
}

function watchedArbiter(): MemoryArbiter {
  const arbiter: MemoryArbiter = new MemoryArbiter({
    facts: loadFacts,
    onOccupied: (occupied) => (occupied ? watch.start() : watch.stop()),
  });
  const watch = new PressureWatch(arbiter, { sample });
  return arbiter;
}

/** What a load may take: weights may lie in the memory of a GPU, too. */
async function loadFacts(): Promise<MemoryFacts> {
  const [hardware, { deviceMemoryFree }] = await Promise.all([hardwareFacts(), backendInfo()]);
  const { totalBytes, availableBytes } = memoryOf(hardware);
  return { totalBytes, availableBytes: availableBytes + deviceMemoryFree };
}

function memoryOf({ memoryTotal, memoryAvailable }: HardwareFacts): MemoryFacts {
  return { totalBytes: memoryTotal, availableBytes: memoryAvailable };
}

/** How hard memory is pressed at this moment, without counting what happened before. */
export async function pressureNow(): Promise<Pressure> {
  return judge(await sample(), {});
}

/** Stalls and group events are Linux's, the level is that of macOS; elsewhere the free memory alone tells. */
async function sample() {
  const linux = process.platform === "linux" || process.platform === "android";
  const [hardware, more] = await Promise.all([
    hardwareFacts().catch(() => undefined),
    linux ? linuxSample() : {},
  ]);
  if (hardware === undefined) return more;
  return { facts: memoryOf(hardware), level: hardware.memoryPressure, ...more };
}
