import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fromRoot } from "../../../scripts/lib/paths.mjs";
import { which } from "../../../scripts/lib/run.mjs";

let bin: string;
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), "toolchain-"));
});
afterEach(() => rmSync(bin, { recursive: true }));

const provide = (name: string) => symlinkSync(which(name) ?? name, join(bin, name));

function setup() {
  const script = fromRoot("scripts/setup.mjs");
  const result = spawnSync(process.execPath, [script, "--no-models", "--no-build"], {
    encoding: "utf8",
    env: { PATH: bin, HOME: bin, NO_COLOR: "1" },
  });
  return { status: result.status, text: result.stderr };
}

describe("setup on a machine that it cannot change", () => {
  test("asks for Rust first", () => {
    expect(setup()).toEqual({ status: 1, text: expect.stringContaining("cargo is missing") });
  });

  test("names every tool that is missing and ends with status 1", () => {
    provide("cargo");
    const { status, text } = setup();
    expect(status).toBe(1);
    expect(text).toMatch(/missing: cmake, ninja, a C\+\+17 compiler, .*readelf, strip, git/);
  });
});

describe("a program", () => {
  test("is found in the folders of PATH, in their order", () => {
    writeFileSync(join(bin, "tool"), "", { mode: 0o755 });
    expect(which("tool", `/nowhere:${bin}`)).toBe(join(bin, "tool"));
  });

  test("must be executable", () => {
    writeFileSync(join(bin, "tool"), "", { mode: 0o644 });
    expect(which("tool", bin)).toBeUndefined();
  });
});
