// The files of the repository that the checks look at.
import { readdirSync } from "node:fs";
import { posix, sep } from "node:path";
import { fromRoot } from "../lib/paths.mjs";

/** All files under `folder` that end like this, as paths from the root with `/`. */
export function filesUnder(folder, ending) {
  return readdirSync(fromRoot(folder), { recursive: true })
    .filter((name) => name.endsWith(ending))
    .map((name) => posix.join(folder, name.split(sep).join("/")))
    .sort();
}
