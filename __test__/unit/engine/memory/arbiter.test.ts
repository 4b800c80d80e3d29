import { afterEach, describe, expect, it, vi } from "vitest";
import { MemoryArbiter } from "../../../../ts/engine/memory/arbiter.js";
import type { MemoryEvent } from "../../../../ts/engine/memory/contract.js";
import { memoryArbiter } from "../../../../ts/engine/memory/shared.js";
import { FakeMemory, machine } from "../../../helpers/fake-memory.js";

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;
const owner = { idleUnloadMs: 0 };

afterEach(() => vi.useRealTimers());

describe("eviction", () => {
  it("takes the lowest priority first, within one the longest unused, and no more than needed", async () => {
    const { memory, arbiter, touch } = machine(100);
    for (const [name, role] of [
      ["text", "text"],
      ["voice", "speech"],
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
    await touch(memory.request("voice", "speech", 10));
    await touch(memory.request("new", "transcription", 20));
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
      memory.request("recogniser", "transcription", 700 * MIB, 700 * MIB, headroom),
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
  const copy = await import("../../../../ts/engine/memory/shared.js");
  const { MemoryArbiter: OtherClass } = await import("../../../../ts/engine/memory/arbiter.js");
  expect(OtherClass).not.toBe(MemoryArbiter);
  expect(copy.memoryArbiter()).toBe(first);
});
