import { expect, it } from "vitest";
import { accelerators, machineFacts, powerState } from "../../../ts/native/machine.js";

it("the machine has a processor that computes and memory to compute in", async () => {
  const { hardware, devices, platform } = await machineFacts();
  expect(platform).toBe(process.platform);
  expect(devices.map(({ kind }) => kind)).toContain("cpu");
  expect(hardware.memoryAvailable).toBeGreaterThan(0);
  expect(hardware.memoryAvailable).toBeLessThanOrEqual(hardware.memoryTotal);
});

it("every accelerator is available or says why not", async () => {
  for (const { backend, available, reason } of await accelerators()) {
    expect([backend, available]).toEqual([backend, reason === undefined]);
  }
});

it("the power state is what the system tells, and no more", async () => {
  const { batteryPercent, temperature } = await powerState();
  expect(batteryPercent ?? 0).toBeLessThanOrEqual(100);
  expect(temperature ?? 20).toBeLessThan(150);
});
