import { describe, expect, it } from "vitest";
import { machineCapabilities } from "../../../ts/active-model/capabilities.js";
import type { Machine } from "../../../ts/native/machine.js";

const GIB = 2 ** 30;

const MACHINE: Machine = {
  platform: "linux",
  hardware: {
    cpuModel: "test",
    architecture: "x86_64",
    physicalCores: 8,
    logicalCores: 16,
    cpuLimit: 16,
    memoryTotal: 64 * GIB,
    memoryAvailable: 64 * GIB,
    features: [],
  },
  devices: [],
  accelerators: [],
};

describe("what the machine could do", () => {
  it("a driver without a module is reported as such", () => {
    const found = machineCapabilities({
      ...MACHINE,
      devices: [{ name: "CPU", description: "", kind: "cpu", backend: "CPU", memoryTotal: 1, memoryFree: 1 }],
      accelerators: [
        { backend: "cuda", available: true, devices: [{ name: "RTX 3060", memoryTotal: 12 * GIB }] },
        { backend: "vulkan", available: false, devices: [], reason: "there is no Vulkan loader" },
      ],
    });
    expect(found.map(({ id, state }) => [id, state])).toEqual([
      ["cpu", "active"],
      ["gpu:cuda", "inactive"],
      ["gpu:vulkan", "absent"],
    ]);
    expect(found[1]?.reason).toBe("RTX 3060 has a working driver, but this build has no cuda module");
  });
});
