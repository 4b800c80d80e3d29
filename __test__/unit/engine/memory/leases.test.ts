import { afterEach, describe, expect, it, vi } from "vitest";
import { machine } from "../../../helpers/fake-memory.js";

const owner = { idleUnloadMs: 0 };

afterEach(() => vi.useRealTimers());

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
