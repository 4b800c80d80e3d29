// Is a build result newer than its sources? Decided by content, since a checkout changes modification times.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hostPlatform } from "./host.mjs";
import { fromRoot, root, targetDir } from "./paths.mjs";

const builds = {
  native: {
    sources: [
      "src",
      "native",
      ".cargo/config.toml",
      "Cargo.toml",
      "Cargo.lock",
      "scripts/build-native.mjs",
      "scripts/lib/native-package.mjs",
      "scripts/lib/elf.mjs",
    ],
    result: () => {
      const { name } = hostPlatform();
      return [`npm/${name}/local-inference.${name}.node`, "index.js", "index.d.ts"];
    },
  },
  ts: {
    sources: ["ts", "tsconfig.json", "tsconfig.build.json", "index.d.ts", "package.json"],
    result: () => ["dist/index.js", "dist/index.d.ts"],
  },
};

function* filesBelow(path) {
  if (!existsSync(path)) return;
  if (statSync(path).isFile()) {
    yield path;
    return;
  }
  for (const entry of readdirSync(path).sort()) yield* filesBelow(join(path, entry));
}

/** One value for the names and contents of files and folders, which are relative to `base`. */
export function hashOf(sources, base = root) {
  const hash = createHash("sha256");
  for (const source of sources) {
    for (const file of filesBelow(join(base, source))) {
      hash.update(`${file.slice(base.length)}\0`);
      hash.update(readFileSync(file));
      hash.update("\0");
    }
  }
  return hash.digest("hex");
}

const stampOf = (name) => join(targetDir(), `built-${name}.sha256`);

/** Whether the last recorded build was made from exactly these sources and its result is still there. */
export function isBuilt(name) {
  const { sources, result } = builds[name];
  const stamp = stampOf(name);
  if (!existsSync(stamp) || !result().every((file) => existsSync(fromRoot(file)))) return false;
  return readFileSync(stamp, "utf8") === hashOf(sources);
}

/** Call before a build; the returned function records its success: an edit during the build is then noticed. */
export function beginBuild(name) {
  const hash = hashOf(builds[name].sources);
  return () => {
    mkdirSync(dirname(stampOf(name)), { recursive: true });
    writeFileSync(stampOf(name), hash);
  };
}
