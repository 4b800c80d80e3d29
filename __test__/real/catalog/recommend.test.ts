import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { deviceClass, fitOf } from "../../../ts/catalog/device-fit.js";
import { factsOfEntry } from "../../../ts/catalog/facts.js";
import { Catalog, catalog, recommendations } from "../../../ts/catalog/load.js";
import { recommendFor } from "../../../ts/catalog/recommend.js";
import type { CatalogEntry } from "../../../ts/catalog/schema.js";
import { chooseVariant } from "../../../ts/catalog/variants.js";
import { loadNative, type NativeAddon } from "../../../ts/native/addon.js";
import type { Machine } from "../../../ts/native/machine.js";

interface Recorded {
  name: string;
  machine: Machine;
  expected: { deviceClass: string; chat: string | null; embedding: string | null };
}

const recorded = JSON.parse(
  readFileSync(new URL("./fixtures/machines.json", import.meta.url), "utf8"),
) as Recorded[];
const GIB = 2 ** 30;

let addon: NativeAddon;
beforeAll(async () => {
  addon = await loadNative();
});

function machineOf(name: string): Machine {
  const found = recorded.find((one) => one.name === name);
  if (found === undefined) throw new Error(name);
  return found.machine;
}

function withMemory(memoryAvailable: number, memoryTotal = memoryAvailable): Machine {
  const base = machineOf("virtual server, 4 cores, 16 GiB");
  return { ...base, hardware: { ...base.hardware, memoryAvailable, memoryTotal } };
}

const entry = (id: string): CatalogEntry => {
  const found = catalog().find(id);
  if (found === undefined) throw new Error(id);
  return found;
};

describe("a recommendation", () => {
  it.each(recorded.map((one) => [one.name, one] as const))("for a %s", (_, { machine, expected }) => {
    const found = recommendFor(machine, catalog(), addon.assessFit);
    expect({
      deviceClass: found.deviceClass,
      chat: found.chat?.entry.id ?? null,
      embedding: found.embedding?.entry.id ?? null,
    }).toEqual(expected);
  });

  it("is one of the catalog, whatever the machine", () => {
    const { chat, embedding } = recommendations();
    const named = [...Object.values(chat).flat(), ...embedding].map(({ id }) => entry(id).kind);
    expect(new Set(named)).toEqual(new Set(["chat", "embedding"]));
  });

  it("is known for twenty machines of every class", () => {
    expect(new Set(recorded.map(({ name }) => name)).size).toBe(20);
    const classes = new Set(recorded.map(({ machine }) => deviceClass(machine)));
    expect([...classes].sort()).toEqual(["apple", "big-gpu", "cpu", "gpu", "phone"]);
  });

  it("is the same every time", () => {
    for (const { machine } of recorded) {
      const twice = [1, 2].map(() => recommendFor(machine, catalog(), addon.assessFit));
      expect(twice[0]).toEqual(twice[1]);
    }
  });

  it("fits, and says what was passed over and why", () => {
    for (const { machine } of recorded) {
      const { chat, embedding, skipped } = recommendFor(machine, catalog(), addon.assessFit);
      for (const one of [chat, embedding]) expect(one?.fit.verdict ?? "fits").not.toBe("no");
      for (const { reason } of skipped) expect(reason).not.toBe("");
    }
  });

  it("never is a tier whose hosted file is not what it says", () => {
    const ids = recorded.map(
      ({ machine }) => recommendFor(machine, catalog(), addon.assessFit).chat?.entry.id,
    );
    expect(ids.filter((id) => id?.startsWith("eliza-1"))).toEqual([]);
  });

  it("becomes a tier once its file is good", () => {
    const mended = new Catalog(
      catalog().entries.map((one) => (one.tier ? { ...one, recommended: true } : one)),
    );
    const { chat } = recommendFor(machineOf("GPU with 24 GiB"), mended, addon.assessFit);
    expect(chat?.entry.id).toMatch(/^eliza-1/);
  });
});

describe("a machine's class", () => {
  it("is that of what this build can use, not of what is installed", () => {
    expect(deviceClass(machineOf("NVIDIA driver without a module"))).toBe("cpu");
    expect(deviceClass(machineOf("desktop with an integrated GPU"))).toBe("cpu");
    expect(deviceClass(machineOf("data centre GPU with 80 GiB"))).toBe("big-gpu");
  });
});

describe("a fit", () => {
  const model = () => factsOfEntry(entry("qwen3-4b"));

  it("has the numbers of weights, cache and buffers", () => {
    const { numbers, verdict } = fitOf(model(), withMemory(16 * GIB), addon.assessFit, { contextSize: 8192 });
    expect(verdict).toBe("fits");
    expect(numbers.kvBytes).toBe(36 * 2 * 1024 * 2 * 8192);
    expect(numbers.neededBytes).toBe(
      numbers.weightBytes + numbers.tokenizerBytes + numbers.kvBytes + numbers.computeBytes,
    );
  });

  it("is tight where only a short context fits", () => {
    const { verdict, numbers, reason } = fitOf(model(), withMemory(3.2 * GIB), addon.assessFit);
    expect([verdict, numbers.largestContext > 1024 && numbers.largestContext < 8192]).toEqual([
      "tight",
      true,
    ]);
    expect(reason).toMatch(/largest that fits/);
  });

  it("is tight where other programs hold the memory", () => {
    const { verdict, reason } = fitOf(model(), withMemory(GIB, 16 * GIB), addon.assessFit);
    expect(verdict).toBe("tight");
    expect(reason).toMatch(/other programs freed/);
  });

  it("is none on a machine that is too small", () => {
    const { verdict, numbers } = fitOf(model(), withMemory(2 * GIB), addon.assessFit);
    expect([verdict, numbers.missingBytes > 0]).toEqual(["no", true]);
  });

  it("counts what the leaving model gives back", () => {
    const machine = withMemory(1 * GIB, 6 * GIB);
    const wishes = { freedBytes: 4.5 * GIB };
    expect(fitOf(model(), machine, addon.assessFit, wishes).verdict).toBe("fits");
  });

  it("prefers the GPU, then both memories together", () => {
    const gpu = machineOf("GPU with 6 GiB");
    expect(fitOf(model(), gpu, addon.assessFit, { contextSize: 4096 }).place).toBe("gpu");
    const large = fitOf(factsOfEntry(entry("gemma-4-12b-it")), gpu, addon.assessFit, { contextSize: 4096 });
    expect(large).toMatchObject({ place: "gpu and memory", verdict: "fits", estimated: false });
  });
});

describe("a variant", () => {
  const q4 = entry("qwen3-4b");
  const [standard] = q4.variants;
  if (standard === undefined) throw new Error("no variant");
  const both: CatalogEntry = {
    ...q4,
    variants: [
      standard,
      { ...standard, id: "q4_0", quantization: "Q4_0", bytes: 2_400_000_000, sha256: null },
      { ...standard, id: "q8_0", quantization: "Q8_0", bytes: 4_300_000_000, sha256: null },
    ],
  };

  it("on a CPU is Q4_0, which decodes faster", () => {
    const { variant, reason } = chooseVariant(both, withMemory(16 * GIB), addon.assessFit);
    expect([variant.id, reason]).toEqual([
      "q4_0",
      "Q4_0: on a CPU it decodes about 1.5 times as fast as Q4_K_M of the same size",
    ]);
  });

  it("on a GPU is Q4_K_M, which is more exact", () => {
    const { variant, reason } = chooseVariant(both, machineOf("GPU with 12 GiB"), addon.assessFit);
    expect([variant.id, reason]).toEqual(["q4_k_m", "Q4_K_M: the best quality for its size"]);
  });

  it("is the smallest where none fits", () => {
    const { variant, fit, reason } = chooseVariant(both, withMemory(GIB), addon.assessFit);
    expect([variant.id, fit.verdict]).toEqual(["q4_0", "no"]);
    expect(reason).toMatch(/the smallest one/);
  });

  it("that is only announced is not chosen", () => {
    const { variant, reason } = chooseVariant(entry("eliza-1-9b"), withMemory(32 * GIB), addon.assessFit);
    expect([variant.id, reason]).toEqual(["q4_k_m", "Q4_K_M: the only one that is hosted"]);
  });
});
