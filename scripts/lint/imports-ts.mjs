// Which TypeScript files import which; types and dynamic imports count.
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import ts from "typescript";
import { fromRoot } from "../lib/paths.mjs";
import { filesUnder } from "./files.mjs";

/** A map from each file under `folder` to the files under it that it imports. */
export function importsUnder(folder) {
  const files = new Set(filesUnder(folder, ".ts"));
  return new Map([...files].map((file) => [file, new Set(imported(file).filter((it) => files.has(it)))]));
}

function imported(file) {
  const { importedFiles } = ts.preProcessFile(readFileSync(fromRoot(file), "utf8"), true, true);
  return importedFiles.map(({ fileName }) =>
    posix.join(posix.dirname(file), fileName).replace(/\.js$/, ".ts"),
  );
}
