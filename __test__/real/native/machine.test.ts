import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { accelerators, machineFacts, powerState } from "../../../ts/native/machine.js";

it("the machine has a processor that computes and memory to compute in", async () => {
  const { hardware, devices, platform } = await machineFacts();
  expect(platform).toBe(process.platform);
  expect(devices.map(({ kind }) => kind)).toContain("cpu");
  expect(hardware.memoryAvailable).toBeGreaterThan(0);
  expect(hardware.memoryAvailable).toBeLessThanOrEqual(hardware.memoryTotal);
});

it("every kind of accelerator of this platform is listed: available, or with the reason why not", async () => {
  const ofPlatform: Partial<Record<NodeJS.Platform, string[]>> = {
    linux: ["cuda", "vulkan"],
    win32: ["cuda", "vulkan"],
    darwin: ["metal"],
  };
  const found = await accelerators();
  expect(found.map(({ backend }) => backend)).toEqual(ofPlatform[process.platform] ?? []);
  const verdicts = found.map(({ available, reason }) => available === (reason === undefined));
  expect(verdicts).toEqual(found.map(() => true));
});

const textOf = (file: string) => (existsSync(file) ? readFileSync(file, "utf8").trim() : "");
const foldersIn = (folder: string) =>
  existsSync(folder) ? readdirSync(folder).map((entry) => join(folder, entry)) : [];

it("the power state tells of a battery and of a temperature exactly where the system has one", async () => {
  const { onBattery, batteryPercent, temperature } = await powerState();
  const batteries = foldersIn("/sys/class/power_supply").filter(
    // The battery of a mouse does not run the machine.
    (supply) => textOf(join(supply, "type")) === "Battery" && textOf(join(supply, "scope")) !== "Device",
  );
  const charges = batteries.map((supply) => Number(textOf(join(supply, "capacity"))));
  expect([...charges, undefined]).toContain(batteryPercent);
  expect(batteryPercent === undefined).toBe(charges.length === 0);
  expect(onBattery ?? false).toBeOneOf(charges.length === 0 ? [false] : [true, false]);
  const sensible = foldersIn("/sys/class/thermal")
    .map((zone) => Number(textOf(join(zone, "temp"))) / 1000)
    .filter((degrees) => degrees >= 1 && degrees < 150);
  expect(temperature === undefined).toBe(sensible.length === 0);
});
