// A control group of Linux with a limit on memory, below the one this process is in.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const MOUNT = "/sys/fs/cgroup";
const NAME = `local-inference-${process.pid}`;

const read = (...path) => readFileSync(join(...path), "utf8").trim();
const number = (...path) => (existsSync(join(...path)) ? Number(read(...path)) : undefined);

/** Version 1 and 2 name their files differently. */
const versions = [
  {
    folderOf: (membership) => /^\d+:[^:]*\bmemory\b[^:]*:(.*)$/m.exec(membership)?.[1],
    mount: join(MOUNT, "memory"),
    limit: (group, bytes) => writeFileSync(join(group, "memory.limit_in_bytes"), String(bytes)),
    peak: (group) => number(group, "memory.max_usage_in_bytes"),
    kills: (group) => Number(/^oom_kill (\d+)$/m.exec(read(group, "memory.oom_control"))?.[1] ?? 0),
  },
  {
    folderOf: (membership) => /^0::(.*)$/m.exec(membership)?.[1],
    mount: MOUNT,
    limit: (group, bytes) => {
      writeFileSync(join(group, "memory.max"), String(bytes));
      // Without this a limit on memory would only make the group swap.
      if (existsSync(join(group, "memory.swap.max"))) writeFileSync(join(group, "memory.swap.max"), "0");
    },
    peak: (group) => number(group, "memory.peak"),
    kills: (group) => Number(/^oom_kill (\d+)$/m.exec(read(group, "memory.events"))?.[1] ?? 0),
  },
];

function create(bytes) {
  const membership = read("/proc/self/cgroup");
  const reasons = [];
  for (const version of versions) {
    const folder = version.folderOf(membership);
    if (folder === undefined) continue;
    const group = join(version.mount, folder, NAME);
    try {
      mkdirSync(group);
    } catch (error) {
      reasons.push(error.message);
      continue;
    }
    try {
      version.limit(group, bytes);
      return { group, version };
    } catch (error) {
      rmdirSync(group);
      reasons.push(error.message);
    }
  }
  return { reason: reasons.join("; ") || "this system has no control groups for memory" };
}

function hasSystemdRun() {
  try {
    execFileSync("systemd-run", ["--user", "--scope", "--quiet", "true"], {
      stdio: "ignore",
      timeout: 5_000,
    });
    return true;
  } catch {
    return false;
  }
}

/**
 * A way to run programs with at most `bytes` of memory: `{ spawn, peak, kills, remove }`, or `{ reason }` where the
 * system lets none be made.
 */
export function memoryGroup(bytes) {
  const { group, version, reason } = process.platform === "linux" ? create(bytes) : { reason: "not Linux" };
  if (group !== undefined) {
    // The shell moves itself, so that nothing of the program is accounted elsewhere.
    const enter = `echo $$ > '${join(group, "cgroup.procs")}' && exec "$@"`;
    return {
      spawn: (command, args, options) => spawn("sh", ["-c", enter, "sh", command, ...args], options),
      peak: () => version.peak(group),
      kills: () => version.kills(group),
      remove: () => rmdirSync(group),
    };
  }
  if (process.platform !== "linux" || !hasSystemdRun()) return { reason };
  const limits = ["-p", `MemoryMax=${bytes}`, "-p", "MemorySwapMax=0"];
  return {
    spawn: (command, args, options) =>
      spawn("systemd-run", ["--user", "--scope", "--quiet", ...limits, command, ...args], options),
    peak: () => undefined,
    // A killed program shows by its signal alone.
    kills: () => 0,
    remove: () => {},
  };
}
