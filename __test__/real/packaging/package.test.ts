import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fromRoot } from "../../../scripts/lib/paths.mjs";
import {
  execute,
  type Installation,
  installPacked,
  platform,
  platformName,
  readJson,
  rootName,
} from "./installed.js";

const bun = fromRoot("node_modules/@oven/bun-linux-x64/bin/bun");
const megabyte = 1e6;
const lifecycleScripts = ["preinstall", "install", "postinstall", "prepare", "prepublish", "prepublishOnly"];

let installation: Installation;
beforeAll(() => {
  installation = installPacked();
});
afterAll(() => installation?.remove());

const paths = (files: { path: string }[]) => files.map((file) => file.path).sort();

/** What a folder of this repository contributes, below the same or another name. */
function below(folder: string, rename = (path: string) => [path]): string[] {
  if (!existsSync(fromRoot(folder))) return [];
  const entries = readdirSync(fromRoot(folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const prefix = fromRoot().length + 1;
  return files.flatMap((entry) => rename(`${entry.parentPath}/${entry.name}`.slice(prefix)));
}

describe("the package", () => {
  test("holds the compiled sources, the loader, the catalog and the documents, and nothing else", () => {
    const compiled = below("ts", (path) => {
      const stem = path.replace(/^ts\//, "dist/").replace(/\.ts$/, "");
      return [`${stem}.js`, `${stem}.d.ts`];
    });
    const documents = ["LICENSE", "README.md", "CHANGELOG.md"].filter((name) => existsSync(fromRoot(name)));
    const expected = [
      ...compiled,
      ...below("catalog"),
      ...documents,
      "index.d.ts",
      "index.js",
      "package.json",
    ];
    expect(paths(installation.root.files)).toEqual(expected.sort());
  });

  test("names every platform package that exists, at its own version", () => {
    const { version, optionalDependencies } = readJson(fromRoot("package.json"));
    const folders = readdirSync(fromRoot("npm"));
    const expected = Object.fromEntries(folders.map((folder) => [`${rootName}-${folder}`, version]));
    expect(optionalDependencies).toEqual(expected);
    for (const folder of folders)
      expect(readJson(fromRoot("npm", folder, "package.json")).version).toBe(version);
  });

  test("agrees with the loader and the Rust crates about the version", () => {
    const { version } = readJson(fromRoot("package.json"));
    const loader = readFileSync(fromRoot("index.js"), "utf8");
    const expected = [...loader.matchAll(/expected (\S+) but got/g)].map((match) => match[1]);
    expect(expected.length).toBeGreaterThan(0);
    expect(new Set(expected)).toEqual(new Set([version]));
    expect(readFileSync(fromRoot("Cargo.toml"), "utf8")).toContain(`\nversion = "${version}"\n`);
  });

  test("runs nothing when it is installed, and neither does the platform package", () => {
    for (const manifest of [fromRoot("package.json"), fromRoot("npm", platform, "package.json")]) {
      const scripts = Object.keys(readJson(manifest).scripts ?? {});
      expect(scripts.filter((name) => lifecycleScripts.includes(name))).toEqual([]);
    }
  });
});

describe("the platform package", () => {
  const cpuModules = [
    ...["x64", "sse42", "sandybridge", "ivybridge", "piledriver", "haswell", "alderlake", "skylakex"],
    ...["cannonlake", "cascadelake", "cooperlake", "icelake", "sapphirerapids", "zen4"],
  ];
  const licences = [
    "llama.cpp",
    "cpp-httplib",
    "hash-rotate-bits",
    "hash-sha256",
    "hash-xxhash",
    "silero",
    "speech-embedding",
  ];

  test("holds the addon, llama.cpp, a CPU module per instruction set, the OpenMP runtime and the licences", () => {
    const libraries = ["llama", "llama-common", "mtmd", "ggml", "ggml-base"];
    const expected = [
      `local-inference.${platform}.node`,
      ...[...libraries, ...cpuModules.map((name) => `ggml-cpu-${name}`)].map((name) => `lib${name}.so`),
      ...licences.map((name) => `licenses/${name}.txt`),
      "libgomp.so.1",
      "README.md",
      "package.json",
    ];
    expect(paths(installation.platform.files)).toEqual(expected.sort());
  });

  test("is smaller than 60 MB when it is installed", () => {
    expect(installation.platform.unpackedSize).toBeLessThan(60 * megabyte);
    // A library that is a link in the build folder would be missing or empty here.
    for (const file of installation.platform.files) expect(file.size, file.path).toBeGreaterThan(0);
  });

  test("is limited to the system that its binaries run on", () => {
    expect(readJson(installation.pathOf(platformName, "package.json"))).toMatchObject({
      os: ["linux"],
      cpu: ["x64"],
      libc: ["glibc"],
    });
  });
});

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
  const addon = await import("./node_modules/${rootName}/index.js");
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
    import * as engine from ${JSON.stringify(`${rootName}/engine`)};
    import * as models from ${JSON.stringify(`${rootName}/models`)};
    import * as memory from ${JSON.stringify(`${rootName}/memory`)};
    type IsAny<T> = 0 extends 1 & T ? true : false;
    const moduleIsTyped: IsAny<typeof everything> = false;
    const nameIsTyped: IsAny<typeof plugin.name> = false;
    const entriesAreTyped: [IsAny<typeof engine>, IsAny<typeof models>, IsAny<typeof memory>] = [false, false, false];
    export const name: string = plugin.name;
    export { entriesAreTyped, moduleIsTyped, nameIsTyped };
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

describe("a program without elizaOS", () => {
  const entry = (name: string) => JSON.stringify(`${rootName}${name}`);

  // Links to this repository's packages; the last tests of this file do without them.
  beforeAll(() => {
    for (const name of ["@elizaos/core", "ajv", "ajv-formats", "undici", "zod"])
      rmSync(installation.pathOf(name));
  });

  test("imports the engine and asks for the backend with none of the libraries that an agent needs", () => {
    const source = `
      const { backendInfo, LocalModel } = await import(${entry("/engine")});
      const { cpuModule } = await backendInfo();
      console.log(JSON.stringify({ cpuModule, load: typeof LocalModel.load }));`;
    expect(evaluate("engine.mjs", source)).toEqual({ cpuModule: expect.any(String), load: "function" });
  });

  test("imports the memory arbiter", () => {
    const source = `
      const { memoryArbiter } = await import(${entry("/memory")});
      console.log(JSON.stringify(memoryArbiter().snapshot().entries));`;
    expect(evaluate("memory.mjs", source)).toEqual([]);
  });

  test("learns from the plugin which package is missing", () => {
    const source = `
      const failure = await import(${entry("")}).catch(({ code, message }) => ({ code, message }));
      console.log(JSON.stringify(failure));`;
    const message = expect.stringContaining("@elizaos/core");
    expect(evaluate("plugin.mjs", source)).toEqual({ code: "ERR_MODULE_NOT_FOUND", message });
  });
});
