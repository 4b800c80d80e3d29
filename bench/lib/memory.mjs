// Memory of this process and load of the machine, from Linux's /proc; undefined elsewhere.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

function kilobytes(file, field) {
  try {
    const match = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(readFileSync(file, "utf8"));
    return match ? Number(match[1]) : undefined;
  } catch {
    return undefined;
  }
}

const megabytes = (kilo) => (kilo === undefined ? undefined : (kilo * 1024) / 1e6);

/** The largest resident set so far, in MB, mapped model pages included. */
export const peakMb = () => megabytes(kilobytes("/proc/self/status", "VmHWM"));

/** Memory of the process that is backed by no file, in MB, once garbage has been collected. */
export async function anonymousMb() {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await sleep(100);
  }
  return megabytes(kilobytes("/proc/self/smaps_rollup", "Anonymous"));
}

const ticksPerSecond = 100;

function machineBusySeconds() {
  try {
    const [, user, nice, system, , , irq, softirq] = readFileSync("/proc/stat", "utf8")
      .split("\n", 1)[0]
      .split(/\s+/)
      .map(Number);
    return (user + nice + system + irq + softirq) / ticksPerSecond;
  } catch {
    return undefined;
  }
}

const ownSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** Starts watching; the function returned tells how many cores other processes used on average since then. */
export function watchOthers() {
  const start = { at: performance.now(), busy: machineBusySeconds(), own: ownSeconds() };
  return () => {
    if (start.busy === undefined) return undefined;
    const others = machineBusySeconds() - start.busy - (ownSeconds() - start.own);
    return Math.max(0, others) / ((performance.now() - start.at) / 1000);
  };
}
