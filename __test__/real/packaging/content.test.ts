import { existsSync, readdirSync, readFileSync } from "node:fs";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fromRoot } from "../../../scripts/lib/paths.mjs";
import { type Installation, installPacked, platform, platformName, readJson, rootName } from "./installed.js";

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

  test("has no problem that publint knows of", async () => {
    const { messages } = await publint({ pkgDir: installation.pathOf(rootName), pack: false, strict: true });
    expect(messages).toEqual([]);
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
  const licences = ["llama.cpp", "cpp-httplib", "hash-rotate-bits", "hash-sha256", "hash-xxhash"];

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
