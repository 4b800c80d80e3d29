// The licences of the C and C++ code in the binaries: they must travel with it.
import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { Failure } from "./log.mjs";
import { fromRoot } from "./paths.mjs";
import { capture } from "./run.mjs";

/** The sources of the llama.cpp that is built. */
export function llamaSources() {
  const metadata = JSON.parse(capture("cargo", ["metadata", "--format-version", "1", "--locked"]));
  const found = metadata.packages.find((entry) => entry.name === "llama-cpp-sys-2");
  if (!found) throw new Failure("Cargo.lock has no llama-cpp-sys-2");
  return join(dirname(found.manifest_path), "llama.cpp");
}

function licenceFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /^LICEN[CS]E(\.(md|txt))?$/i.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** `vendor/cpp-httplib/LICENSE` -> `cpp-httplib.txt`; the licence in the root is llama.cpp's own. */
export function licenceName(path) {
  const parts = path.split(sep).slice(0, -1);
  return `${parts.filter((part) => part !== "vendor").join("-") || "llama.cpp"}.txt`;
}

/** Replaces `packageFolder/licenses`. */
export function installLicences(packageFolder) {
  const target = join(packageFolder, "licenses");
  const sources = llamaSources();
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  for (const file of [join(sources, "LICENSE"), ...licenceFiles(join(sources, "vendor"))]) {
    copyFileSync(file, join(target, licenceName(relative(sources, file))));
  }
  // Weights that are part of the addon.
  for (const name of ["silero", "speech-embedding"])
    copyFileSync(fromRoot(`src/audio/weights/LICENSE.${name}`), join(target, `${name}.txt`));
}
