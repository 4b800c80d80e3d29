// The files of the repository that the checks look at, as paths from the root with `/`.
import { existsSync } from "node:fs";
import { fromRoot } from "../lib/paths.mjs";
import { capture } from "../lib/run.mjs";

/** What git knows and what it would add; deleted files do not count. */
export function trackedFiles(...folders) {
  const options = ["--cached", "--others", "--exclude-standard", "-z", "--", ...folders];
  const names = capture("git", ["ls-files", ...options]).split("\0");
  return [...new Set(names)].filter((name) => name !== "" && existsSync(fromRoot(name))).sort();
}

export const filesUnder = (folder, ending) => trackedFiles(folder).filter((name) => name.endsWith(ending));
