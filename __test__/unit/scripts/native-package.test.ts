import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { licenceName } from "../../../scripts/lib/licences.mjs";
import { findLlamaOutput, findProblems, librariesOf } from "../../../scripts/lib/native-package.mjs";

const elf = (needed: string[], runPaths: string[] = ["$ORIGIN"], soname?: string) => ({
  needed,
  runPaths,
  soname,
});

describe("a package folder", () => {
  test("is complete when every library is beside its users or part of the system", () => {
    const elves = new Map([
      ["addon.node", elf(["libllama.so", "libc.so.6"])],
      ["libllama.so", elf(["libstdc++.so.6"], ["$ORIGIN"], "libllama.so")],
    ]);
    expect(findProblems(elves)).toEqual([]);
  });

  test("is incomplete when a library comes from the build machine", () => {
    expect(findProblems(new Map([["addon.node", elf(["libssl.so.3"])]]))).toEqual([
      "addon.node needs libssl.so.3",
    ]);
  });

  test("may not look into the build folder", () => {
    expect(findProblems(new Map([["addon.node", elf([], ["$ORIGIN", "/build/lib"])]]))).toEqual([
      "addon.node looks for libraries in $ORIGIN:/build/lib",
    ]);
  });

  test("needs a run path where a library uses its neighbour", () => {
    const elves = new Map([
      ["addon.node", elf(["libllama.so"], [])],
      ["libllama.so", elf([], [], "libllama.so")],
    ]);
    expect(findProblems(elves)).toEqual(["addon.node needs libllama.so and has no $ORIGIN run path"]);
  });

  test("has no library whose SONAME is another file, as npm drops symbolic links", () => {
    expect(findProblems(new Map([["libllama.so", elf([], [], "libllama.so.0")]]))).toEqual([
      "libllama.so calls itself libllama.so.0",
    ]);
  });
});

describe("llama.cpp's build output", () => {
  let release: string;
  beforeEach(() => {
    release = mkdtempSync(join(tmpdir(), "native-package-"));
  });
  afterEach(() => rmSync(release, { recursive: true }));

  function output(hash: string, modifiedAt: number): string {
    const out = join(release, "build", `llama-cpp-sys-2-${hash}`, "out");
    mkdirSync(join(out, "lib"), { recursive: true });
    mkdirSync(join(out, "backends"));
    writeFileSync(join(out, "lib", "libllama.so"), "");
    utimesSync(join(out, "lib", "libllama.so"), modifiedAt, modifiedAt);
    return out;
  }

  test("is the newest one", () => {
    output("aaaa", 1000);
    const newest = output("bbbb", 3000);
    output("cccc", 2000);
    mkdirSync(join(release, "build", "llama-cpp-sys-2-dddd", "out"), { recursive: true });
    expect(findLlamaOutput(release)).toBe(newest);
  });

  test("that is absent is reported", () => {
    expect(() => findLlamaOutput(release)).toThrow("build the addon first");
  });

  test("gives the linked libraries and every CPU module, but no other backend", () => {
    const out = output("aaaa", 1000);
    for (const name of ["libggml-cpu-zen4.so", "libggml-cpu-haswell.so", "libggml-rpc.so"]) {
      writeFileSync(join(out, "backends", name), "");
    }
    const names = librariesOf(out).map((path) => path.slice(out.length + 1));
    expect(names).toEqual([
      "lib/libllama.so",
      "lib/libllama-common.so",
      "lib/libmtmd.so",
      "lib/libggml.so",
      "lib/libggml-base.so",
      "backends/libggml-cpu-haswell.so",
      "backends/libggml-cpu-zen4.so",
    ]);
  });

  test("without CPU modules cannot be packaged", () => {
    expect(() => librariesOf(output("aaaa", 1000))).toThrow("no CPU modules");
  });
});

test("a licence file is named after the code that it covers", () => {
  expect(licenceName("LICENSE")).toBe("llama.cpp.txt");
  expect(licenceName("vendor/cpp-httplib/LICENSE")).toBe("cpp-httplib.txt");
  expect(licenceName("vendor/hash/xxhash/LICENSE.md")).toBe("hash-xxhash.txt");
});
