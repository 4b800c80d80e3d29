import { beforeAll, describe, expect, it } from "vitest";
import { parseOverrides } from "../../../ts/active-model/overrides.js";
import {
  describeLoad,
  type LoadSettings,
  type ResolvedLoad,
  resolveLoad,
} from "../../../ts/active-model/resolve-load.js";
import { checkTier } from "../../../ts/active-model/tier-contract.js";
import { factsOfEntry, type ModelFacts } from "../../../ts/catalog/facts.js";
import { catalog } from "../../../ts/catalog/load.js";
import { loadNative, type ModelHeader, type NativeAddon } from "../../../ts/native/addon.js";
import type { Machine } from "../../../ts/native/machine.js";

const GIB = 2 ** 30;
const SETTINGS: LoadSettings = { speculationDisabled: false, preferAccurateKv: false };

let addon: NativeAddon;
beforeAll(async () => {
  addon = await loadNative();
});

const machine = (gibibytes = 64): Machine => ({
  platform: "linux",
  hardware: {
    cpuModel: "test",
    architecture: "x86_64",
    physicalCores: 8,
    logicalCores: 16,
    cpuLimit: 16,
    memoryTotal: gibibytes * GIB,
    memoryAvailable: gibibytes * GIB,
    features: [],
  },
  devices: [],
  accelerators: [],
});

function tierFacts(id: string): ModelFacts {
  const entry = catalog().find(id);
  if (entry === undefined) throw new Error(id);
  return factsOfEntry(entry);
}

interface Options {
  settings?: Partial<LoadSettings>;
  overrides?: unknown;
  memory?: number;
  drafter?: string;
  model?: ModelFacts;
}

function resolve(id: string, { settings, overrides, memory, drafter, model }: Options = {}): ResolvedLoad {
  return resolveLoad({
    model: model ?? tierFacts(id),
    files: { path: "/models/m.gguf", drafter },
    machine: machine(memory),
    settings: { ...SETTINGS, ...settings },
    overrides: parseOverrides(overrides),
    assess: addon.assessFit,
  });
}

const capability = (load: ResolvedLoad, id: string) => load.capabilities.find((one) => one.id === id);

describe("a tier advertises only what its decode path uses", () => {
  it.each(catalog().tiers.map((tier) => [tier.id, tier] as const))("%s", (id, tier) => {
    expect(checkTier(tier, resolve(id, { drafter: "/models/drafter.gguf" }))).toEqual([]);
  });

  it("and the contract notices when one does not", () => {
    const [tier, ...others] = catalog().tiers;
    if (tier === undefined) throw new Error("no tier");
    const load = resolve(tier.id, { drafter: "/models/drafter.gguf" });
    const without = others.find(({ companions }) => companions.drafter === undefined);
    if (without === undefined) throw new Error("every tier has a drafter");
    expect(checkTier(without, load)).toContainEqual(expect.stringContaining("exactly where there is one"));
    const foreign = { id: "kernel:qjl_full", state: "active", reason: "" } as const;
    expect(checkTier(tier, { ...load, capabilities: [foreign] })).toContainEqual(
      expect.stringContaining("kernel:qjl_full is listed as active"),
    );
    const fork = {
      ...load,
      spec: {
        kind: "text",
        path: "",
        context: { flashAttention: "on", kvTypeK: "turbo3", kvTypeV: "q8_0" },
      } as const,
    };
    expect(checkTier(tier, fork)).toContainEqual(expect.stringContaining("turbo3 is no KV type"));
  });
});

describe("the load of a tier", () => {
  it("is q8_0 with flash attention, and every field says where it comes from", () => {
    const load = resolve("eliza-1-9b");
    expect(load.spec).toEqual({
      kind: "text",
      path: "/models/m.gguf",
      load: {},
      context: { kvTypeK: "q8_0", kvTypeV: "q8_0", flashAttention: "on", parallel: 1 },
    });
    expect(describeLoad(load)).toContainEqual({ field: "kvTypeK", value: "q8_0", from: "catalog" });
    expect(describeLoad(load)).toContainEqual({ field: "contextSize", value: "auto", from: "default" });
    expect(load.warnings).toEqual([]);
  });

  it("has the drafter's numbers, and hands them to the engine unchanged", () => {
    const load = resolve("eliza-1-2b", { drafter: "/models/mtp/drafter-e2b.gguf" });
    expect(load.fields.drafter?.value).toEqual({
      kind: "file",
      path: "/models/mtp/drafter-e2b.gguf",
      draftMin: 1,
      draftMax: 1,
      contract: { specType: "draft-mtp", speculativeSamples: 1, gpuLayers: "auto" },
    });
    expect(load.spec).toMatchObject({
      context: { drafter: "/models/mtp/drafter-e2b.gguf", draftMin: 1, draftMax: 1 },
    });
    expect(capability(load, "speculation")).toEqual({
      id: "speculation",
      state: "active",
      reason: "drafts up to 1 at a time with /models/mtp/drafter-e2b.gguf",
    });
  });

  it("drafts for others, but says of itself that it does not draft", () => {
    const path = "/models/m.gguf";
    const load = resolveLoad({
      model: tierFacts("eliza-1-9b"),
      files: { path, chosenDrafter: { kind: "file", path } },
      machine: machine(),
      settings: SETTINGS,
      assess: addon.assessFit,
    });
    expect(load.fields).not.toHaveProperty("drafter");
    expect(capability(load, "speculation")?.state).toBe("absent");
  });

  it("without its drafter warns and goes on", () => {
    const load = resolve("eliza-1-2b");
    expect(load.fields).not.toHaveProperty("drafter");
    expect(load.warnings).toEqual([expect.stringContaining("mtp/drafter-e2b.gguf is missing")]);
  });

  it("with ELIZA_MTP_DISABLE neither speculates nor warns", () => {
    const load = resolve("eliza-1-2b", { drafter: "/d.gguf", settings: { speculationDisabled: true } });
    expect(load.fields).not.toHaveProperty("drafter");
    expect(load.warnings).toEqual([]);
    expect(capability(load, "speculation")?.reason).toContain("ELIZA_MTP_DISABLE");
  });

  it("is f16 where that is wanted and fits", () => {
    const wanted = { settings: { preferAccurateKv: true } };
    expect(resolve("eliza-1-2b", wanted).fields.kvTypeK).toEqual({ value: "f16", from: "machine" });
    expect(resolve("eliza-1-2b", { ...wanted, memory: 6 }).fields.kvTypeK).toEqual({
      value: "q8_0",
      from: "catalog",
    });
  });

  it("lists the kernels that the publisher names as absent, and they keep nothing from loading", () => {
    const load = resolve("eliza-1-27b");
    expect(load.capabilities.filter(({ id }) => id.startsWith("kernel:")).map(({ state }) => state)).toEqual([
      "absent",
      "absent",
      "absent",
    ]);
  });

  it("whose file holds another model is that model's", () => {
    const facts = tierFacts("eliza-1-9b");
    const header = { architecture: "qwen35" } as ModelHeader;
    const load = resolve("eliza-1-9b", { model: { ...facts, header, architecture: "qwen35" } });
    expect(load.fields.kvTypeK).toEqual({ value: "auto", from: "default" });
    expect(load.warnings).toEqual([expect.stringContaining("qwen35 instead of gemma4")]);
  });
});

describe("settings and overrides", () => {
  it("the override goes before the setting, the setting before the catalog", () => {
    const settings = {
      kvType: "q4_0",
      contextSize: 4096,
      gpuLayers: 5,
      threads: 3,
      memoryHeadroomBytes: GIB,
    };
    const load = resolve("eliza-1-2b", { settings, overrides: { cacheTypeV: "f16", contextSize: 8192 } });
    expect(load.fields).toMatchObject({
      kvTypeK: { value: "q4_0", from: "setting" },
      kvTypeV: { value: "f16", from: "override" },
      contextSize: { value: 8192, from: "override" },
      gpuLayers: { value: 5, from: "setting" },
      memoryHeadroomBytes: { value: GIB, from: "setting" },
    });
    expect(load.spec).toEqual({
      kind: "text",
      path: "/models/m.gguf",
      load: { gpuLayers: 5, memoryHeadroomBytes: GIB },
      context: {
        contextSize: 8192,
        kvTypeK: "q4_0",
        kvTypeV: "f16",
        threads: 3,
        parallel: 1,
        memoryHeadroomBytes: GIB,
        flashAttention: "on",
      },
    });
  });

  it("useGpu: false computes on the CPU, mmap and mlock are passed on", () => {
    const load = resolve("qwen3-4b", { overrides: { useGpu: false, mmap: false, mlock: true } });
    expect(load.spec.load).toEqual({ gpuLayers: 0, useMmap: false, useMlock: true });
  });

  it("a quantised cache without flash attention is refused", () => {
    expect(() => resolve("eliza-1-2b", { overrides: { flashAttention: false } })).toThrow(
      expect.objectContaining({ message: expect.stringContaining("flash attention") }),
    );
    const exact = { flashAttention: false, cacheTypeK: "f16", cacheTypeV: "f16" };
    expect(resolve("eliza-1-2b", { overrides: exact }).fields.flashAttention.value).toBe("off");
  });

  it("a model outside the catalog keeps the engine's own defaults", () => {
    const { entry: _, ...facts } = tierFacts("qwen3-4b");
    expect(resolve("", { model: facts }).spec).toEqual({
      kind: "text",
      path: "/models/m.gguf",
      load: {},
      context: {},
    });
  });

  it("tight memory is a warning", () => {
    expect(resolve("qwen3-4b", { memory: 3 }).warnings).toEqual([expect.stringContaining("Memory is tight")]);
  });
});
