import { afterEach, expect, it } from "vitest";
import { type AnySpec, Engine, type ModelSpec } from "../../../ts/engine/engine.js";
import { KINDS } from "../../../ts/engine/kinds.js";
import { memoryArbiter } from "../../../ts/engine/memory/shared.js";
import type { ModelKind, Resident, Weights } from "../../../ts/engine/resident.js";
import { residentCount } from "../../../ts/engine/residents.js";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";

type ToySpec = Omit<ModelSpec, "kind"> & { readonly kind: "toy"; readonly tone: string };

/** Weights of a format of their own. */
class ToyWeights implements Weights {
  closed = false;
  async close(): Promise<void> {
    this.closed = true;
  }
}

class ToyResident implements Resident<ModelSpec> {
  cacheBytes = 0;
  readonly calls: string[] = [];

  async open(spec: ModelSpec): Promise<void> {
    this.calls.push(`open ${(spec as unknown as ToySpec).tone}`);
    this.cacheBytes = 50;
  }
  async check(): Promise<void> {
    this.calls.push("check");
  }
  metrics(): [] {
    return [];
  }
}

const spec = { kind: "toy", path: "/models/toy.bin", tone: "high" } as const satisfies ToySpec;
const toy = spec as unknown as AnySpec;

afterEach(() => {
  delete (KINDS as Record<string, unknown>).toy;
  setNativeForTests(undefined);
  expect(residentCount()).toBe(0);
});

it("a new kind of model is one row of the table: the engine loads, opens, checks, counts and unloads it", async () => {
  useFake();
  const weights: ToyWeights[] = [];
  const residents: ToyResident[] = [];
  const row: ModelKind<ModelSpec, ToyWeights, ToyResident> = {
    role: "speech",
    format: {
      name: "toy",
      async load() {
        weights.push(new ToyWeights());
        return weights[0] as ToyWeights;
      },
    },
    need: async () => ({ bytes: 120, headroomBytes: 0, cacheBytes: 20 }),
    resident: () => {
      residents.push(new ToyResident());
      return residents[0] as ToyResident;
    },
  };
  Object.assign(KINDS, { toy: row });

  const engine = Engine.create({ idleUnloadMs: 0 });
  await engine.preload(toy);
  await engine.check(toy);
  expect([weights.length, residents.length]).toEqual([1, 1]);
  expect(residents[0]?.calls).toEqual(["open high", "check"]);
  expect(engine.residency(toy)).toEqual({ loaded: true, shared: false });
  expect(memoryArbiter().snapshot().entries).toMatchObject([
    { label: "toy.bin", role: "speech", priority: 50, bytes: 150, leases: 0 },
  ]);
  await engine.release(toy);
  expect(weights[0]?.closed).toBe(true);
  await engine.close();
});

it("text and vectors of one file share its weights, and the handle is as precious as the text", async () => {
  const fake = useFake();
  const engine = Engine.create({ idleUnloadMs: 0 });
  await engine.preload({ kind: "embedding", path: "/models/a.gguf" });
  await engine.preload({ kind: "text", path: "/models/a.gguf" });
  expect([fake.loads.length, fake.embedders.length, fake.contexts.length]).toEqual([1, 1, 1]);
  expect(memoryArbiter().snapshot().entries).toMatchObject([{ role: "text" }]);
  await engine.close();
});
