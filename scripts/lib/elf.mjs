// What a shared library asks of the machine it is loaded on, as readelf prints it.
import { capture } from "./run.mjs";

/** Parses `readelf -dW`: the SONAME, the libraries needed and where they are looked for. */
export function parseDynamicSection(text) {
  const values = (tag) =>
    [...text.matchAll(new RegExp(`\\(${tag}\\)[^\\[]*\\[([^\\]]*)\\]`, "g"))].map((match) => match[1]);
  return {
    soname: values("SONAME")[0],
    needed: values("NEEDED"),
    runPaths: [...values("RPATH"), ...values("RUNPATH")],
  };
}

/** Parses `readelf -VW`: the newest GLIBC symbol version required, e.g. "2.34"; undefined if none is. */
export function newestGlibc(text) {
  const versions = [...text.matchAll(/\bGLIBC_(\d+)\.(\d+)/g)].map((match) => [
    Number(match[1]),
    Number(match[2]),
  ]);
  const newest = versions.sort((a, b) => b[0] - a[0] || b[1] - a[1])[0];
  return newest?.join(".");
}

// The readers of both outputs rely on the untranslated text.
const english = { LC_ALL: "C" };

export function readElf(file) {
  return {
    ...parseDynamicSection(capture("readelf", ["-dW", file], { env: english })),
    glibc: newestGlibc(capture("readelf", ["-VW", file], { env: english })),
  };
}
