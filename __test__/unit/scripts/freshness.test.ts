import { mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hashOf } from "../../../scripts/lib/freshness.mjs";

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "freshness-"));
  mkdirSync(join(base, "src", "core"), { recursive: true });
  writeFileSync(join(base, "src", "core", "lib.rs"), "fn a() {}");
  writeFileSync(join(base, "Cargo.toml"), "[workspace]");
});
afterEach(() => rmSync(base, { recursive: true }));

const sources = ["src", "Cargo.toml", "not-there"];

test("sources that a checkout only touched are still the same", () => {
  const before = hashOf(sources, base);
  utimesSync(join(base, "src", "core", "lib.rs"), 1, 1);
  expect(hashOf(sources, base)).toBe(before);
});

test("an edit, a new file and a renamed file each make a build out of date", () => {
  const seen = [hashOf(sources, base)];
  writeFileSync(join(base, "src", "core", "lib.rs"), "fn b() {}");
  seen.push(hashOf(sources, base));
  writeFileSync(join(base, "src", "new.rs"), "");
  seen.push(hashOf(sources, base));
  renameSync(join(base, "src", "new.rs"), join(base, "src", "other.rs"));
  seen.push(hashOf(sources, base));
  expect(new Set(seen).size).toBe(4);
});
