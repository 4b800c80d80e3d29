import { afterEach, describe, expect, it, vi } from "vitest";
import { MemoryArbiter } from "../../../ts/engine/arbiter/arbiter.js";
import { memoryArbiter } from "../../../ts/engine/arbiter/shared.js";
import type { MemoryEvent, MemoryRequest } from "../../../ts/engine/arbiter/types.js";
import { type FakeHandle, FakeMemory } from "../../helpers/fake-memory.js";

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;
const owner = { idleUnloadMs: 0 };

afterEach(() => vi.useRealTimers());

function machine(total: number, waitMs = 5_000) {
  const memory = new FakeMemory(total);
  const arbiter = new MemoryArbiter({ facts: memory.facts, waitMs });
  /** Uses a handle and lets it go. */
  const touch = async (request: MemoryRequest<FakeHandle>) =>
    (await arbiter.acquire(request, owner)).release();
  return { memory, arbiter, touch };
}

describe("leases", () => {
  it("calls at the same time share one load", async () => {
    const { memory, arbiter } = machine(100);
    const request = memory.request("text", "text", 10);
    const leases = await Promise.all([1, 2, 3].map(() => arbiter.acquire(request, owner)));
    expect(memory.log).toEqual(["+text"]);
    expect(new Set(leases.map(({ value }) => value)).size).toBe(1);
    expect(arbiter.snapshot().entries).toMatchObject([{ leases: 3, owners: 1, state: "ready" }]);
  });

  it("a handle stays while a retained use of it lasts, and a use ends once", async () => {
    const { memory, arbiter } = machine(10);
    const lease = await arbiter.acquire(memory.request("a", "embedding", 10), owner);
    const second = lease.retain();
    lease.release();
    lease.release();
    expect(arbiter.snapshot().entries[0]?.leases).toBe(1);
    expect(await arbiter.relieve({ level: "critical", reason: "" })).toBe(0);
    second.release();
    expect(await arbiter.relieve({ level: "critical", reason: "" })).toBe(1);
    expect(() => second.retain()).toThrow(expect.objectContaining({ code: "CLOSED" }));
  });

  it("a failed load is reported to all who wait, and forgotten", async () => {
    const { memory, arbiter } = machine(5);
    const request = memory.request("big", "text", 10);
    const outcomes = await Promise.allSettled([1, 2].map(() => arbiter.acquire(request, owner)));
    expect(outcomes).toMatchObject([
      { status: "rejected", reason: { code: "OUT_OF_MEMORY" } },
      { status: "rejected", reason: { code: "OUT_OF_MEMORY" } },
    ]);
    expect(arbiter.size).toBe(0);
    expect(arbiter.snapshot().events.at(-1)).toMatchObject({ type: "failed", label: "big" });
  });

  it("a load that nobody waits for any more is given up; the next one starts anew", async () => {
    const { memory, arbiter } = machine(100);
    memory.hold = true;
    const controller = new AbortController();
    const leaving = arbiter.acquire(memory.request("a", "text", 10), owner, controller.signal);
    await vi.waitFor(() => expect(arbiter.busy).toBe(true));
    controller.abort();
    await expect(leaving).rejects.toMatchObject({ name: "AbortError" });
    memory.release();
    const lease = await arbiter.acquire(memory.request("a", "text", 10), owner);
    expect(lease.value.open).toBe(true);
    expect(memory.log).toEqual(["+a"]);
  });

  it("leaves after the patience of its most patient owner", async () => {
    const { memory, arbiter } = machine(100);
    const request = memory.request("a", "text", 10);
    const leases = [
      await arbiter.acquire(request, { idleUnloadMs: 1_000 }),
      await arbiter.acquire(request, { idleUnloadMs: 3_000 }),
    ];
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    for (const lease of leases) lease.release();
    await vi.advanceTimersByTimeAsync(2_999);
    expect(arbiter.size).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(arbiter.size).toBe(0);
    await vi.waitFor(() => expect(arbiter.snapshot().unloads.idle).toBe(1));
  });

  it("who waits for a load that is released for all learns that it is closed", async () => {
    const { memory, arbiter } = machine(100);
    const owner = { idleUnloadMs: 0 };
    const waiting = arbiter.acquire(memory.request("a", "text", 10), owner);
    const outcome = expect(waiting).rejects.toMatchObject({ code: "CLOSED" });
    await arbiter.disown(owner);
    await outcome;
  });

  it("a handle leaves with the last owner that claims it", async () => {
    const { memory, arbiter } = machine(100);
    const [ada, bob] = [{ idleUnloadMs: 0 }, { idleUnloadMs: 0 }];
    for (const one of [ada, bob]) (await arbiter.acquire(memory.request("a", "text", 10), one)).release();
    expect(arbiter.residency(ada, "a")).toEqual({ loaded: true, shared: true });
    await arbiter.disown(ada);
    expect(arbiter.residency(bob, "a")).toEqual({ loaded: true, shared: false });
    await arbiter.disown(bob);
    expect(memory.log).toEqual(["+a", "-a"]);
  });
});

describe("eviction", () => {
  it("takes the lowest priority first, within one the longest unused, and no more than needed", async () => {
    const { memory, arbiter, touch } = machine(100);
    for (const [name, role] of [
      ["text", "text"],
      ["voice", "tts"],
      ["first", "embedding"],
      ["second", "embedding"],
    ] as const)
      await touch(memory.request(name, role, 20));
    await touch(memory.request("first", "embedding", 20));
    await touch(memory.request("more", "text", 60));
    expect(memory.log.slice(4)).toEqual(["-second", "-first", "+more"]);
    expect(arbiter.snapshot().entries.map(({ label }) => label)).toEqual(["voice", "text", "more"]);
  });

  it("a handle that also serves a higher role is as precious as that", async () => {
    const { memory, touch } = machine(30);
    await touch(memory.request("both", "embedding", 10));
    await touch(memory.request("both", "text", 10));
    await touch(memory.request("voice", "tts", 10));
    await touch(memory.request("new", "asr", 20));
    expect(memory.log).toEqual(["+both", "+voice", "-voice", "+new"]);
  });

  it("leaves the headroom that a load asks for", async () => {
    const { memory, touch } = machine(100);
    await touch(memory.request("a", "embedding", 30));
    await touch(memory.request("b", "text", 50, 50, 30));
    expect(memory.log).toEqual(["+a", "-a", "+b"]);
  });

  it("does not believe that the memory of loaded handles is free", async () => {
    const memory = new FakeMemory(100);
    // As a system says of mapped weights.
    const arbiter = new MemoryArbiter({ facts: async () => ({ totalBytes: 100, availableBytes: 100 }) });
    (await arbiter.acquire(memory.request("a", "text", 60), owner)).release();
    (await arbiter.acquire(memory.request("b", "text", 60), owner)).release();
    expect(memory.log).toEqual(["+a", "-a", "+b"]);
  });

  it("does not wait for the system to notice that a handle has left", async () => {
    const memory = new FakeMemory(100);
    // As a control group says of pages that nobody maps any more.
    const arbiter = new MemoryArbiter({
      facts: async () => ({ totalBytes: 100, availableBytes: memory.log.length === 0 ? 100 : 30 }),
    });
    for (const name of ["a", "b"])
      (await arbiter.acquire(memory.request(name, "embedding", 10), owner)).release();
    (await arbiter.acquire(memory.request("c", "text", 35), owner)).release();
    expect(memory.log).toEqual(["+a", "+b", "-a", "+c"]);
  });

  it("waits for a handle in use when there is no room beside it", async () => {
    const { memory, arbiter } = machine(10);
    const lease = await arbiter.acquire(memory.request("a", "text", 8), owner);
    const coming = arbiter.acquire(memory.request("b", "embedding", 5), owner);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(memory.log).toEqual(["+a"]);
    lease.release();
    expect((await coming).value.name).toBe("b");
    expect(memory.log).toEqual(["+a", "-a", "+b"]);
  });

  it("a small load does not queue behind one that waits", async () => {
    const { memory, arbiter } = machine(10);
    const lease = await arbiter.acquire(memory.request("a", "text", 6), owner);
    const waiting = arbiter.acquire(memory.request("b", "text", 8), owner);
    const small = await arbiter.acquire(memory.request("c", "embedding", 2), owner);
    small.release();
    lease.release();
    expect((await waiting).value.name).toBe("b");
  });

  it("two loads at once do not both count on the same free memory", async () => {
    // A wait that misses the end of a use would last for the whole limit, longer than the test may take.
    const { memory, touch } = machine(10, 600_000);
    memory.unchecked = true;
    await Promise.all(["a", "b", "c"].map((name) => touch(memory.request(name, "text", 6))));
    expect(memory.peak).toBe(6);
    expect(memory.log).toHaveLength(5);
  });

  it("stops waiting at the limit, and at once when the signal fires", async () => {
    const { memory, arbiter } = machine(10, 40);
    await arbiter.acquire(memory.request("a", "text", 8), owner);
    const limited = arbiter.acquire(memory.request("b", "text", 5), owner);
    await expect(limited).rejects.toMatchObject({ code: "OUT_OF_MEMORY" });
    const patient = machine(10, 60_000);
    await patient.arbiter.acquire(patient.memory.request("a", "text", 8), owner);
    const controller = new AbortController();
    const next = patient.memory.request("b", "text", 5);
    const stopped = patient.arbiter.acquire(next, owner, controller.signal);
    setTimeout(() => controller.abort(), 10);
    await expect(stopped).rejects.toMatchObject({ name: "AbortError" });
    await vi.waitFor(() => expect(patient.arbiter.size).toBe(1));
  });

  it("what could not fit even alone fails without waiting", async () => {
    const { memory, arbiter } = machine(10, 60_000);
    await arbiter.acquire(memory.request("a", "text", 8), owner);
    const hopeless = arbiter.acquire(memory.request("b", "text", 50), owner);
    await expect(hopeless).rejects.toMatchObject({ code: "OUT_OF_MEMORY" });
  });

  it("an estimate that was too low is made up for when the load fails", async () => {
    const { memory, touch } = machine(10);
    await touch(memory.request("a", "embedding", 6));
    await touch(memory.request("b", "text", 8, 1));
    expect(memory.log).toEqual(["+a", "-a", "+b"]);
  });

  it("makes room for work beside a handle in use", async () => {
    const { memory, arbiter, touch } = machine(10);
    await touch(memory.request("a", "embedding", 6));
    const lease = await arbiter.acquire(memory.request("b", "text", 4), owner);
    const work = vi.fn(async () => {
      if (memory.used > 4) throw Object.assign(new Error("full"), { code: "OUT_OF_MEMORY" });
      return "opened";
    });
    expect(await arbiter.withRoom(work)).toBe("opened");
    expect([work.mock.calls.length, memory.log]).toEqual([2, ["+a", "+b", "-a"]]);
    expect(lease.value.open).toBe(true);
    await expect(arbiter.withRoom(() => Promise.reject(new Error("other")))).rejects.toThrow("other");
  });

  it("a text model of 1.1 GB, embeddings and other work take turns under 2 GiB", async () => {
    const { memory, touch, arbiter } = machine(2 * GIB);
    const headroom = 512 * MIB;
    const work = [
      memory.request("text-1.5b", "text", 1_100 * MIB, 1_100 * MIB, headroom),
      memory.request("embedding", "embedding", 60 * MIB, 60 * MIB, headroom),
      memory.request("recogniser", "asr", 700 * MIB, 700 * MIB, headroom),
      memory.request("text-0.5b", "text", 500 * MIB, 500 * MIB, headroom),
    ];
    for (let round = 0; round < 3; round++) for (const request of work) await touch(request);
    expect(memory.peak).toBeLessThanOrEqual(2 * GIB - headroom);
    expect(arbiter.snapshot().unloads.room).toBeGreaterThan(2);
    expect(memory.log.filter((entry) => entry === "+text-1.5b").length).toBe(3);
  });
});

describe("pressure", () => {
  it("takes one idle handle when moderate, all when critical, and none in use", async () => {
    const { memory, arbiter, touch } = machine(100);
    const lease = await arbiter.acquire(memory.request("used", "drafter", 10), owner);
    for (const name of ["a", "b", "c"]) await touch(memory.request(name, "text", 10));
    expect(await arbiter.relieve({ level: "moderate", reason: "tight" })).toBe(1);
    expect(memory.log.at(-1)).toBe("-a");
    expect(await arbiter.relieve({ level: "critical", reason: "worse" })).toBe(2);
    expect([...memory.inMemory.keys()]).toEqual(["used"]);
    expect(lease.value.open).toBe(true);
    expect(await arbiter.relieve({ level: "none", reason: "free" })).toBe(0);
  });

  it("events tell what happened, and a listener that fails disturbs nobody", async () => {
    const { memory, arbiter, touch } = machine(10);
    const events: MemoryEvent[] = [];
    arbiter.listen(() => {
      throw new Error("no");
    });
    const stop = arbiter.listen((event) => events.push(event));
    await touch(memory.request("a", "text", 8));
    await arbiter.relieve({ level: "moderate", reason: "tight" });
    await arbiter.relieve({ level: "moderate", reason: "still tight" });
    stop();
    await touch(memory.request("b", "text", 8));
    expect(events.map(({ at: _, ...event }) => event)).toEqual([
      { type: "loading", label: "a", bytes: 8 },
      { type: "loaded", label: "a", bytes: 8 },
      { type: "pressure", level: "moderate", reason: "tight" },
      { type: "unloaded", label: "a", bytes: 8, reason: "pressure" },
    ]);
    expect(arbiter.snapshot()).toMatchObject({
      bytes: 8,
      pressure: { level: "moderate", reason: "still tight" },
      unloads: { pressure: 1, room: 0 },
    });
  });

  it("says when the first handle comes and the last one has left", async () => {
    const memory = new FakeMemory(10);
    const onOccupied = vi.fn();
    const arbiter = new MemoryArbiter({ facts: memory.facts, onOccupied });
    (await arbiter.acquire(memory.request("a", "text", 1), owner)).release();
    await arbiter.close();
    expect(onOccupied.mock.calls).toEqual([[true], [false]]);
    const late = arbiter.acquire(memory.request("a", "text", 1), owner);
    await expect(late).rejects.toMatchObject({ code: "CLOSED" });
  });
});

it("another copy of the package finds the arbiter of the first", async () => {
  const first = memoryArbiter();
  vi.resetModules();
  const copy = await import("../../../ts/engine/arbiter/shared.js");
  const { MemoryArbiter: OtherClass } = await import("../../../ts/engine/arbiter/arbiter.js");
  expect(OtherClass).not.toBe(MemoryArbiter);
  expect(copy.memoryArbiter()).toBe(first);
});
