// A file of code has at most 300 lines; one that comes near is due to be split by meaning.
import { readFileSync } from "node:fs";
import { done, Failure, main, warn } from "../lib/log.mjs";
import { fromRoot } from "../lib/paths.mjs";
import { trackedFiles } from "./files.mjs";

const MOST = 300;
const NEAR = 280;
const CODE = /\.(ts|mjs|rs|cpp|h|py|cmake)$/;
const GENERATED = ["index.d.ts"];

const linesOf = (file) => readFileSync(fromRoot(file), "utf8").split("\n").length - 1;

main(() => {
  const files = trackedFiles().filter((file) => CODE.test(file) && !GENERATED.includes(file));
  const long = files.map((file) => ({ file, lines: linesOf(file) })).filter(({ lines }) => lines > NEAR);
  const list = (some) => some.map(({ file, lines }) => `  ${file}: ${lines}`).join("\n");
  const over = long.filter(({ lines }) => lines > MOST);
  if (over.length > 0) throw new Failure(`more than ${MOST} lines:\n${list(over)}`);
  if (long.length > 0) warn(`more than ${NEAR} lines, split these next:\n${list(long)}`);
  done(`no file of code has more than ${MOST} lines`);
});
