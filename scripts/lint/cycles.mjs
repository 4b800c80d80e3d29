// Fails when files or folders need each other in a circle: imports go downward only.
import { existsSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { done, Failure, main } from "../lib/log.mjs";
import { fromRoot } from "../lib/paths.mjs";
import { cyclesOf, grouped } from "./graph.mjs";
import { importsUnder } from "./imports-ts.mjs";
import { usesUnder } from "./uses-rust.mjs";

/** Cycles that are still to be undone: a crate may have no more than so many. */
const REMAINING = { "src/llama/src": 3, "src/binding/src": 2 };

/** A folder is a room; each file directly in `ts/` is one of its own. */
function room(file) {
  const folder = posix.dirname(file);
  return folder === "ts" ? file : folder;
}

const crates = () =>
  readdirSync(fromRoot("src"))
    .map((crate) => `src/${crate}/src`)
    .filter((folder) => existsSync(fromRoot(folder)));

const list = (cycles) => cycles.map((way) => `  ${way.join(" → ")}`).join("\n");

main(() => {
  const problems = [];
  for (const folder of ["ts", "__test__"]) {
    const imports = importsUnder(folder);
    const cycles = [...cyclesOf(imports), ...cyclesOf(grouped(imports, room))];
    if (cycles.length > 0) problems.push(list(cycles));
  }
  for (const folder of crates()) {
    const cycles = cyclesOf(usesUnder(folder));
    if (cycles.length > (REMAINING[folder] ?? 0)) problems.push(list(cycles));
    else if (cycles.length > 0) console.log(`${cycles.length} cycles to undo:\n${list(cycles)}`);
  }
  if (problems.length > 0) throw new Failure(`imports go in a circle:\n${problems.join("\n")}`);
  done("no cycles of files or folders");
});
