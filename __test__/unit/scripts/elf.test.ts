import { expect, test } from "vitest";
import { newestGlibc, parseDynamicSection } from "../../../scripts/lib/elf.mjs";

const dynamicSection = `
Dynamic section at offset 0x3d20 contains 31 entries:
  Tag                Type                 Name/Value
 0x0000000000000001 (NEEDED)             Shared library: [libggml-base.so]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000e (SONAME)             Library soname: [libggml.so]
 0x000000000000001d (RUNPATH)            Library runpath: [$ORIGIN]
 0x000000000000000c (INIT)               0x2000
`;

test("the dynamic section gives the name, the needed libraries and the run path", () => {
  expect(parseDynamicSection(dynamicSection)).toEqual({
    soname: "libggml.so",
    needed: ["libggml-base.so", "libc.so.6"],
    runPaths: ["$ORIGIN"],
  });
});

test("the older RPATH counts as a run path", () => {
  const text = " 0x000000000000000f (RPATH)              Library rpath: [/build/lib]";
  expect(parseDynamicSection(text).runPaths).toEqual(["/build/lib"]);
});

test("glibc versions are compared as numbers", () => {
  expect(newestGlibc("Name: GLIBC_2.9  Flags: none\nName: GLIBC_2.34  Flags: none\nName: GLIBC_2.4")).toBe(
    "2.34",
  );
});

test("a library without versioned symbols asks for no glibc", () => {
  expect(newestGlibc("No version information found in this file.")).toBeUndefined();
});
