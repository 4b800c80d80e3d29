// Dependencies of the crates that nothing uses. cargo-machete and cargo-shear do the same, and take minutes to compile.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { done, Failure, main } from "../lib/log.mjs";
import { fromRoot, root } from "../lib/paths.mjs";
import { capture } from "../lib/run.mjs";
import { filesUnder } from "./files.mjs";
import { code } from "./rust-text.mjs";

/** Where the code is that each kind of dependency is for, by the path inside a crate. */
const PLACES = {
  normal: /^(src|examples|tests|benches)\//,
  dev: /^(src|examples|tests|benches)\//,
  build: /^build\.rs$/,
};

/** The text of a crate's files of one kind, without comments and strings. */
function textOf(folder, kind) {
  const inside = (file) => PLACES[kind].test(file.slice(folder.length + 1));
  const files = filesUnder(folder, ".rs").filter(inside);
  return files.map((file) => code(readFileSync(fromRoot(file), "utf8"))).join("\n");
}

function unusedOf({ manifest_path: manifest, dependencies }) {
  const folder = relative(root, join(manifest, ".."));
  return dependencies
    .filter(({ name, kind }) => {
      const ident = name.replaceAll("-", "_");
      return !new RegExp(`\\b${ident}\\b`).test(textOf(folder, kind ?? "normal"));
    })
    .map(({ name, kind }) => `${folder}: ${name}${kind === null ? "" : ` (${kind})`}`);
}

/** Entries of `[workspace.dependencies]` that no crate asks for. */
function orphans(packages) {
  const manifest = readFileSync(fromRoot("Cargo.toml"), "utf8");
  const section = /\n\[workspace\.dependencies\]\n([\s\S]*?)(?=\n\[)/.exec(manifest)?.[1] ?? "";
  const names = [...section.matchAll(/^([\w-]+)\s*=/gm)].map((match) => match[1]);
  const asked = new Set(
    packages.flatMap(({ name, dependencies }) => [name, ...dependencies.map((it) => it.name)]),
  );
  return names.filter((name) => !asked.has(name)).map((name) => `Cargo.toml: ${name}`);
}

main(() => {
  const options = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
  const { packages } = JSON.parse(capture("cargo", options));
  const unused = [...packages.flatMap(unusedOf), ...orphans(packages)];
  if (unused.length > 0) throw new Failure(`nothing uses these dependencies:\n  ${unused.join("\n  ")}`);
  done("the crates use every dependency that they name");
});
