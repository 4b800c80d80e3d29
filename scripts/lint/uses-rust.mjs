// Which files of a crate use items of which; `mod` and `pub use` alone are no use, tests do not count.
import { readFileSync } from "node:fs";
import { fromRoot } from "../lib/paths.mjs";
import { filesUnder } from "./files.mjs";
import { code, inlineModules, pathsIn, withoutTests } from "./rust-text.mjs";

/** A map from each file of the crate in `folder` to the files of it whose items it uses. */
export function usesUnder(folder) {
  const files = filesUnder(folder, ".rs").filter((file) => !/(^|\/)tests(\/|\.rs$)/.test(file));
  const modules = new Map(files.map((file) => [moduleOf(folder, file), read(file)]));
  const graph = new Map();
  for (const [name, module] of modules) {
    const needs = new Set();
    for (const path of module.paths) {
      const target = resolve(modules, absolute(modules, name, module, path));
      if (target === undefined || target === name || isNameOnly(module, path)) continue;
      needs.add(modules.get(target).file);
    }
    graph.set(module.file, needs);
  }
  return graph;
}

/** `src/core/src/fit/plan.rs` -> `crate::fit::plan`. */
function moduleOf(folder, file) {
  const inside = file.slice(folder.length + 1).replace(/(^|\/)(lib|mod)?\.rs$|\.rs$/, "");
  return ["crate", ...inside.split("/").filter((part) => part !== "" && part !== "lib")].join("::");
}

function read(file) {
  const text = withoutTests(code(readFileSync(fromRoot(file), "utf8")));
  const { paths, body } = pathsIn(text);
  const reexports = new Map(paths.filter((path) => path.isPublic).map((path) => [path.alias, path]));
  return { file, paths, body, reexports, inline: inlineModules(text) };
}

/** The path from the crate's root, or undefined where it leads outside of the crate's modules. */
function absolute(modules, name, module, { segments, at }) {
  if (segments[0] === "crate") return segments;
  const here = name.split("::");
  if (segments[0] !== "super" && segments[0] !== "self") {
    return modules.has(`${name}::${segments[0]}`) ? [...here, ...segments] : undefined;
  }
  const supers = segments.filter((part) => part === "super").length;
  const outer = supers - module.inline.filter(([from, to]) => from < at && at < to).length;
  const rest = segments.filter((part) => part !== "super" && part !== "self");
  if (outer < 0) return undefined;
  return [...here.slice(0, here.length - outer), ...rest];
}

/** The module in which the item of an absolute path is defined: the deepest one on the path, then past re-exports. */
function resolve(modules, segments) {
  if (segments === undefined) return undefined;
  let length = segments.length;
  while (length > 0 && !modules.has(segments.slice(0, length).join("::"))) length -= 1;
  const name = segments.slice(0, length).join("::");
  const module = modules.get(name);
  const again = module?.reexports.get(segments[length]);
  if (again === undefined) return module && name;
  const there = resolve(modules, absolute(modules, name, module, again));
  return there === undefined || there === name ? name : there;
}

/** Whether a module only passes the item on, and does not speak of it anywhere else. */
function isNameOnly(module, { alias, isPublic }) {
  return isPublic && !new RegExp(`\\b${alias}\\b`).test(module.body);
}
