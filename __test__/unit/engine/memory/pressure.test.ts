import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Pressure } from "../../../../ts/engine/memory/contract.js";
import { linuxSample } from "../../../../ts/engine/memory/linux.js";
import { judge, type PressureSample, scarceBytes } from "../../../../ts/engine/memory/pressure.js";
import { PressureWatch } from "../../../../ts/engine/memory/watch.js";

const GIB = 1024 ** 3;
const free = (share: number): PressureSample => ({
  facts: { totalBytes: 2 * GIB, availableBytes: 2 * GIB * share },
});

describe("the level of pressure", () => {
  it.each<[string, PressureSample, PressureSample, Pressure["level"]]>([
    ["nothing is known", {}, {}, "none"],
    ["half is free", free(0.5), {}, "none"],
    ["little is free", free(0.05), {}, "moderate"],
    ["almost nothing is free", free(0.02), {}, "critical"],
    ["some tasks wait now and then", { stalls: { some: 5, full: 1 } }, {}, "none"],
    ["some tasks wait often", { stalls: { some: 30, full: 2 } }, {}, "moderate"],
    ["macOS says normal", { ...free(0.5), level: 1 }, {}, "none"],
    ["macOS says short", { ...free(0.5), level: 2 }, {}, "moderate"],
    ["macOS says critical", { ...free(0.5), level: 4 }, {}, "critical"],
    ["all wait", { stalls: { some: 30, full: 15 } }, {}, "critical"],
    [
      "the group's limit is met while half is cache",
      { ...free(0.5), events: { limited: 9, exhausted: 0 } },
      { events: { limited: 1, exhausted: 0 } },
      "none",
    ],
    [
      "the group's limit is met while little is free",
      { ...free(0.1), events: { limited: 9, exhausted: 0 } },
      { events: { limited: 1, exhausted: 0 } },
      "moderate",
    ],
    [
      "the group ran out of memory",
      { ...free(0.5), events: { limited: 9, exhausted: 1 } },
      { events: { limited: 9, exhausted: 0 } },
      "critical",
    ],
    ["it ran out before the first look", { events: { limited: 9, exhausted: 7 } }, {}, "none"],
  ])("%s", (_, now, before, level) => {
    expect(judge(now, before).level).toBe(level);
  });

  it("the memory that contexts of automatic size leave free is no pressure", () => {
    // Of the engine's default headroom: a quarter of 1 GiB, 512 MiB of 2 GiB, a tenth of 16 GiB, 4 GiB of 128 GiB.
    for (const [total, headroom] of [
      [1, 0.25],
      [2, 0.5],
      [16, 1.6],
      [128, 4],
    ] as const)
      expect(scarceBytes(total * GIB)).toBeLessThan(headroom * GIB * 0.7);
  });
});

describe("what Linux tells", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "local-inference-proc-"));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function write(files: Record<string, string>) {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
  }
  const stalls = (some: string, full: string) =>
    `some avg10=${some} avg60=0.00 avg300=0.00 total=1\nfull avg10=${full} avg60=0.00 avg300=0.00 total=1\n`;

  it("the process's own group goes before the whole system", async () => {
    await write({
      "proc/self/cgroup": "0::/app\n",
      "proc/pressure/memory": stalls("50.00", "40.00"),
      "sys/fs/cgroup/app/memory.pressure": stalls("1.50", "0.25"),
      "sys/fs/cgroup/app/memory.events": "low 0\nhigh 3\nmax 4\noom 1\noom_kill 1\noom_group_kill 0\n",
    });
    expect(await linuxSample(root)).toEqual({
      stalls: { some: 1.5, full: 0.25 },
      events: { limited: 7, exhausted: 2 },
    });
  });

  it("version 1 of control groups counts its failures", async () => {
    await write({
      "proc/self/cgroup": "4:memory:/box\n0::/\n",
      "proc/pressure/memory": stalls("2.00", "1.00"),
      "sys/fs/cgroup/memory/box/memory.failcnt": "12\n",
      "sys/fs/cgroup/memory/box/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
    });
    expect(await linuxSample(root)).toEqual({
      stalls: { some: 2, full: 1 },
      events: { limited: 12, exhausted: 2 },
    });
  });

  it("a group outside of the namespace is the mount itself", async () => {
    await write({ "proc/self/cgroup": "0::/../..\n", "sys/fs/cgroup/memory.events": "max 5\n" });
    expect(await linuxSample(root)).toEqual({ events: { limited: 5, exhausted: 0 } });
  });

  it("an old kernel tells nothing", async () => {
    expect(await linuxSample(root)).toEqual({});
    await write({ "proc/self/cgroup": "nonsense\n", "proc/pressure/memory": "" });
    expect(await linuxSample(root)).toEqual({});
  });
});

describe("the watch", () => {
  const setUp = (busy = false) => {
    const relieve = vi.fn(async ({ level }: Pressure) => (level === "none" ? 0 : 1));
    let now = 0;
    let sample: PressureSample = free(0.05);
    const watch = new PressureWatch({ relieve, busy } as never, {
      sample: async () => sample,
      now: () => now,
      pauseMs: 10_000,
    });
    return {
      relieve,
      look: (at: number, seen: PressureSample) => {
        now = at;
        sample = seen;
        return watch.look();
      },
    };
  };

  it("gives an eviction time to show before moderate pressure causes another", async () => {
    const { relieve, look } = setUp();
    await look(0, free(0.05));
    await look(3_000, free(0.05));
    expect(relieve).toHaveBeenCalledTimes(1);
    await look(10_000, free(0.05));
    expect(relieve).toHaveBeenCalledTimes(2);
    await look(11_000, free(0.01));
    expect(relieve).toHaveBeenLastCalledWith(expect.objectContaining({ level: "critical" }));
  });

  it("does not take a load's own stalls for pressure, unless they are critical", async () => {
    const { relieve, look } = setUp(true);
    await look(0, free(0.05));
    expect(relieve).not.toHaveBeenCalled();
    await look(1, free(0.01));
    expect(relieve).toHaveBeenCalledTimes(1);
  });

  it("a failing look is no pressure", async () => {
    const relieve = vi.fn();
    const sample = () => Promise.reject(new Error("no"));
    await new PressureWatch({ relieve, busy: false } as never, { sample }).look();
    expect(relieve).not.toHaveBeenCalled();
  });
});
