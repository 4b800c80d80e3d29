import fc from "fast-check";
import { expect, it } from "vitest";
import { MemoryArbiter } from "../../../../ts/engine/memory/arbiter.js";
import type { Lease } from "../../../../ts/engine/memory/contract.js";
import { MEMORY_ROLES, type MemoryRole } from "../../../../ts/roles.js";
import { type FakeHandle, FakeMemory } from "../../../helpers/fake-memory.js";

const TOTAL = 100;
const NAMES = ["a", "b", "c", "d", "e"] as const;
type Name = (typeof NAMES)[number];
const ROLES = Object.keys(MEMORY_ROLES) as MemoryRole[];

interface Handle {
  readonly role: MemoryRole;
  readonly bytes: number;
  /** How far the estimate is off. */
  readonly estimate: number;
}

type Step =
  | { readonly do: "acquire"; readonly name: Name; readonly owner: number }
  | { readonly do: "abort"; readonly name: Name; readonly owner: number }
  | { readonly do: "release" | "retain"; readonly which: number }
  | { readonly do: "relieve"; readonly level: "moderate" | "critical" }
  | { readonly do: "settle" };

const owners = [{ idleUnloadMs: 0 }, { idleUnloadMs: 0 }];
const handle = fc.record<Handle>({
  role: fc.constantFrom(...ROLES),
  bytes: fc.integer({ min: 1, max: 60 }),
  estimate: fc.integer({ min: -10, max: 10 }),
});
const named = { name: fc.constantFrom(...NAMES), owner: fc.nat(1) };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("acquire" as const), ...named }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("abort" as const), ...named }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("release" as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("retain" as const), which: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("relieve" as const),
      level: fc.constantFrom("moderate" as const, "critical" as const),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ do: "settle" as const }) },
);

const turns = async (count: number) => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

it("whatever is asked for, nothing in use leaves, nothing is loaded twice, and memory is never exceeded", async () => {
  const handles = fc.record(
    Object.fromEntries(NAMES.map((name) => [name, handle])) as Record<Name, typeof handle>,
  );
  const run = async (kinds: Record<Name, Handle>, steps: readonly Step[]) => {
    const memory = new FakeMemory(TOTAL);
    const arbiter = new MemoryArbiter({ facts: memory.facts, waitMs: 20 });
    const leases: Lease<FakeHandle>[] = [];
    const asked: Promise<unknown>[] = [];
    const requestOf = (name: Name) => {
      const { role, bytes, estimate } = kinds[name];
      return memory.request(name, role, bytes, Math.max(0, bytes + estimate));
    };
    const ask = (name: Name, owner: number, signal?: AbortSignal) => {
      const one = owners[owner] as { idleUnloadMs: number };
      const asking = arbiter.acquire(requestOf(name), one, signal).then(
        (lease) => void leases.push(lease),
        (error: { code?: string }) => expect(["OUT_OF_MEMORY", "CANCELLED", "CLOSED"]).toContain(error.code),
      );
      asked.push(asking);
    };
    for (const one of steps) {
      if (one.do === "acquire") ask(one.name, one.owner);
      if (one.do === "abort") {
        const controller = new AbortController();
        ask(one.name, one.owner, controller.signal);
        await turns(1);
        controller.abort();
      }
      if (one.do === "release") leases.splice(one.which % Math.max(1, leases.length), 1)[0]?.release();
      if (one.do === "retain") {
        const lease = leases[one.which % Math.max(1, leases.length)];
        if (lease !== undefined) leases.push(lease.retain());
      }
      if (one.do === "relieve") await arbiter.relieve({ level: one.level, reason: "test" });
      if (one.do === "settle") await turns(5);
      for (const { value } of leases) expect(value.open).toBe(true);
    }
    await Promise.all(asked);
    for (const { value } of leases) expect(value.open).toBe(true);
    for (const lease of leases) lease.release();
    await Promise.all(owners.map((one) => arbiter.disown(one)));
    expect(memory.peak).toBeLessThanOrEqual(TOTAL);
    expect(memory.used).toBe(0);
    expect(arbiter.snapshot().entries).toEqual([]);
  };
  await fc.assert(fc.asyncProperty(handles, fc.array(step, { maxLength: 40 }), run), { numRuns: 150 });
});

it("what is evicted to fit is the least precious, and the last of it was needed", async () => {
  const run = async (kinds: readonly Handle[], wanted: number) => {
    const memory = new FakeMemory(TOTAL);
    const arbiter = new MemoryArbiter({ facts: memory.facts });
    const [owner] = owners as [{ idleUnloadMs: number }];
    const loaded: { name: string; kind: Handle }[] = [];
    for (const [index, kind] of kinds.entries()) {
      if (memory.used + kind.bytes > TOTAL) break;
      (await arbiter.acquire(memory.request(`h${index}`, kind.role, kind.bytes), owner)).release();
      loaded.push({ name: `h${index}`, kind });
    }
    const order = loaded
      .map((one, index) => ({ ...one, index }))
      .sort((a, b) => MEMORY_ROLES[a.kind.role] - MEMORY_ROLES[b.kind.role] || a.index - b.index);
    const expected: string[] = [];
    let free = TOTAL - memory.used;
    for (const { name, kind } of order) {
      if (free >= wanted) break;
      free += kind.bytes;
      expected.push(`-${name}`);
    }
    const before = memory.log.length;
    (await arbiter.acquire(memory.request("wanted", "text", wanted), owner)).release();
    expect(memory.log.slice(before)).toEqual([...expected, "+wanted"]);
    await arbiter.close();
  };
  const kinds = fc.array(handle, { maxLength: 8 });
  await fc.assert(fc.asyncProperty(kinds, fc.integer({ min: 1, max: TOTAL }), run), { numRuns: 150 });
});
