import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../../ts/errors.js";
import { addon } from "./support/addon.js";
import { runChild } from "./support/child.js";

const source = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

describe("importing the addon", () => {
  it.runIf(process.platform === "linux")(
    "loads no compute module and starts no thread that computes",
    async () => {
      const { code, stdout, stderr } = await runChild("import.mjs");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const { maps, threads } = JSON.parse(stdout) as { maps: string; threads: string[] };
      expect(maps).toContain(".node");
      expect(maps).not.toContain("libggml-cpu-");
      expect(maps).not.toContain(".gguf");
      expect(threads.filter((name) => /inference|embedding|model-loading/.test(name))).toEqual([]);
    },
  );

  it("offers everything that ts/native/addon.ts uses", () => {
    const native = source("ts/native/addon.ts");
    const declarations = source("index.d.ts");
    const types =
      /export type \{([^}]*)\} from "\.\.\/\.\.\/index\.js"/.exec(native)?.[1]?.match(/\w+/g) ?? [];
    expect(types.length).toBeGreaterThan(10);
    for (const type of types) {
      expect(declarations).toMatch(new RegExp(`^export (declare class|interface) ${type} `, "m"));
    }
    const functions = /Pick<\s*typeof Addon,([^>]*)>/.exec(native)?.[1]?.match(/\w+/g) ?? [];
    expect(functions.length).toBeGreaterThan(5);
    for (const name of functions) expect(addon[name as keyof typeof addon], name).toBeTypeOf("function");
  });

  it("its error codes are those of TypeScript, in the same order", () => {
    expect(addon.errorCodes()).toEqual([...ERROR_CODES]);
  });
});

describe("the backend", () => {
  it("has a CPU device and names the module that was chosen for this processor", async () => {
    const info = await addon.backendInfo();
    expect(info.devices.filter((device) => device.kind === "cpu")).toHaveLength(1);
    expect(info.cpuLevels).toContain(info.cpuModule);
    expect(info.systemInfo).toContain("CPU");
    expect(info.failures.filter((failure) => failure.module.includes("cpu"))).toEqual([]);
  });

  it("is started once, however many ask at the same time", async () => {
    const [first, ...others] = await Promise.all(Array.from({ length: 8 }, () => addon.backendInfo()));
    for (const other of others) {
      expect(other.cpuModule).toBe(first?.cpuModule);
      expect(other.devices).toHaveLength(first?.devices.length ?? -1);
    }
  });

  it("tells plausible facts of this machine", async () => {
    const facts = await addon.hardwareFacts();
    expect(facts.physicalCores).toBeGreaterThanOrEqual(1);
    expect(facts.logicalCores).toBeGreaterThanOrEqual(facts.physicalCores);
    expect(facts.memoryAvailable).toBeGreaterThan(0);
    expect(facts.memoryAvailable).toBeLessThanOrEqual(facts.memoryTotal);
  });
});

describe("log records", () => {
  it("are taken once, and a level that does not exist is refused", () => {
    addon.setLogLevel("debug");
    addon.takeLogs();
    expect(addon.takeLogs()).toEqual([]);
    expect(() => addon.setLogLevel("loud" as "off")).toThrow(/^INVALID_INPUT: .*loud/);
    addon.setLogLevel("warn");
  });

  it("stop being collected when they are off", async () => {
    addon.setLogLevel("off");
    addon.takeLogs();
    await addon.backendInfo();
    expect(addon.takeLogs()).toEqual([]);
    addon.setLogLevel("warn");
  });
});
