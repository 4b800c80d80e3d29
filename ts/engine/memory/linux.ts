import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { GroupEvents, PressureSample, Stalls } from "./pressure.js";

/**
 * Stalls and group events of this process, from the files below `root` (`/` outside of tests). The stalls are those of
 * its own control group where the kernel counts them there, of the whole system otherwise.
 */
export async function linuxSample(root = "/"): Promise<Pick<PressureSample, "stalls" | "events">> {
  const read = (...path: string[]) =>
    readFile(join(root, ...path), "utf8").then(
      (text) => text,
      () => undefined,
    );
  const groups = memoryGroups((await read("proc/self/cgroup")) ?? "");
  const own = groups.unified === undefined ? undefined : await read(groups.unified, "memory.pressure");
  const stalls = stallsOf(own ?? (await read("proc/pressure/memory")) ?? "");
  const events =
    (groups.unified && unifiedEvents(await read(groups.unified, "memory.events"))) ??
    (groups.legacy &&
      legacyEvents(
        await read(groups.legacy, "memory.failcnt"),
        await read(groups.legacy, "memory.oom_control"),
      ));
  return { ...(stalls && { stalls }), ...(events && { events }) };
}

/** Folders of the group that accounts this process's memory, of version 2 and 1. */
function memoryGroups(membership: string): { unified?: string; legacy?: string } {
  const found: { unified?: string; legacy?: string } = {};
  for (const line of membership.split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    // A namespace shows groups outside of it as `/..`; the mount is then the container's own group.
    const inside = path === undefined || path.split("/").includes("..") ? "" : path;
    if (controllers === "") found.unified = join("sys/fs/cgroup", inside);
    if (controllers?.split(",").includes("memory")) found.legacy = join("sys/fs/cgroup/memory", inside);
  }
  return found;
}

/** `some avg10=1.50 avg60=…` and `full …`. */
function stallsOf(text: string): Stalls | undefined {
  const average = (kind: string) => {
    const [, value] = new RegExp(`^${kind} avg10=([\\d.]+)`, "m").exec(text) ?? [];
    return value === undefined ? undefined : Number(value);
  };
  const some = average("some");
  return some === undefined ? undefined : { some, full: average("full") ?? 0 };
}

function unifiedEvents(text: string | undefined): GroupEvents | undefined {
  if (text === undefined) return undefined;
  const count = (name: string) => counter(text, name) ?? 0;
  return { limited: count("high") + count("max"), exhausted: count("oom") + count("oom_kill") };
}

function legacyEvents(failures: string | undefined, control: string | undefined): GroupEvents | undefined {
  if (failures === undefined) return undefined;
  return { limited: Number(failures), exhausted: counter(control ?? "", "oom_kill") ?? 0 };
}

function counter(text: string, name: string): number | undefined {
  const [, value] = new RegExp(`^${name} (\\d+)$`, "m").exec(text) ?? [];
  return value === undefined ? undefined : Number(value);
}
