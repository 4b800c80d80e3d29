import { existsSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fromRoot } from "../../../scripts/lib/paths.mjs";
import { execute, type Installation, installPacked, platformName, rootName } from "./installed.js";

const bun = fromRoot("node_modules/@oven/bun-linux-x64/bin/bun");

let installation: Installation;
beforeAll(() => {
  installation = installPacked();
});
afterAll(() => installation?.remove());

/** Runs a program in the consumer's project; it prints JSON as its last line. */
function evaluate(file: string, source: string, runtime = process.execPath): unknown {
  writeFileSync(join(installation.folder, file), source);
  const lines = execute(runtime, [file], installation.folder).trim().split("\n");
  return JSON.parse(lines.at(-1) ?? "");
}

const importPlugin = `
  const { default: plugin } = await import(${JSON.stringify(rootName)});
  console.log(JSON.stringify(plugin.name));`;

const requirePlugin = `
  console.log(JSON.stringify(require(${JSON.stringify(rootName)}).default.name));`;

/** The loader file itself: the part of the package that finds the addon. */
const loadAddon = `
  import { readFileSync } from "node:fs";
  const addon = await import("../../packaging/node_modules/${rootName}/index.js");
  const { cpuModule, devices } = await addon.backendInfo();
  const mapped = readFileSync("/proc/self/maps", "utf8").split("\\n").map((line) => line.split(/\\s+/)[5] ?? "");
  console.log(JSON.stringify({ cpuModule, devices: devices.length, mapped: [...new Set(mapped)] }));`;

interface LoadedAddon {
  cpuModule: string | null;
  devices: number;
  mapped: string[];
}

describe("the installed package", () => {
  test("can be imported", () => {
    expect(evaluate("import.mjs", importPlugin)).toBe("local-inference");
  });

  test("can be required", () => {
    expect(evaluate("require.cjs", requirePlugin)).toBe("local-inference");
  });

  test("finds the addon and loads every library from the platform package", () => {
    const { cpuModule, devices, mapped } = evaluate("addon.mjs", loadAddon) as LoadedAddon;
    const folder = realpathSync(installation.pathOf(platformName));
    expect(cpuModule).not.toBeNull();
    expect(devices).toBeGreaterThan(0);
    const ours = mapped.filter((path) => /\/(lib(llama|ggml|mtmd|gomp)|local-inference)[^/]*$/.test(path));
    expect(ours).toContain(join(folder, "libllama.so"));
    expect(ours).toContain(join(folder, "libgomp.so.1"));
    expect(ours.filter((path) => !path.startsWith(folder))).toEqual([]);
  });

  test.skipIf(!existsSync(bun))(
    `can be imported by Bun${existsSync(bun) ? "" : " (skipped: there is no Bun for this platform)"}`,
    () => {
      expect(evaluate("import-bun.mjs", importPlugin, bun)).toBe("local-inference");
      expect(evaluate("addon-bun.mjs", loadAddon, bun)).toMatchObject({ cpuModule: expect.any(String) });
    },
  );
});

describe("a TypeScript user", () => {
  // Fails to compile where the declarations are not found: everything would be `any`.
  const source = `
    import plugin, * as everything from ${JSON.stringify(rootName)};
    type IsAny<T> = 0 extends 1 & T ? true : false;
    const moduleIsTyped: IsAny<typeof everything> = false;
    const nameIsTyped: IsAny<typeof plugin.name> = false;
    export const name: string = plugin.name;
    export { moduleIsTyped, nameIsTyped };
  `;
  const settings = {
    bundler: ["--module", "esnext", "--moduleResolution", "bundler"],
    nodenext: ["--module", "nodenext", "--moduleResolution", "nodenext"],
  };

  test.each(Object.entries(settings))(
    "can compile against the declarations with %s resolution",
    (_, flags) => {
      writeFileSync(join(installation.folder, "consumer.ts"), source);
      const common = ["--noEmit", "--strict", "--target", "es2022", "--skipLibCheck", "--types", "node"];
      const compiler = fromRoot("node_modules/typescript/bin/tsc");
      const args = [compiler, ...common, ...flags, "consumer.ts"];
      expect(execute(process.execPath, args, installation.folder)).toBe("");
    },
  );
});
