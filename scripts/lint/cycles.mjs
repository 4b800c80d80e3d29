// Fails when files or folders need each other in a circle: imports go downward only.
import { existsSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { done, Failure, main } from "../lib/log.mjs";
import { fromRoot } from "../lib/paths.mjs";
import { cyclesOf, grouped } from "./graph.mjs";
import { importsUnder } from "./imports-ts.mjs";
import { usesUnder } from "./uses-rust.mjs";

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
    if (cycles.length > 0) problems.push(list(cycles));
  }
  if (problems.length > 0) throw new Failure(`imports go in a circle:\n${problems.join("\n")}`);
  done("no cycles of files or folders");
});
