// Fills npm/<platform>/ with the addon and the libraries it needs, and checks that the folder is complete.
import { copyFileSync, existsSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { readElf } from "./elf.mjs";
import { Failure } from "./log.mjs";
import { capture, run } from "./run.mjs";

const linkedLibraries = ["libllama.so", "libllama-common.so", "libmtmd.so", "libggml.so", "libggml-base.so"];
const openMpRuntime = "libgomp.so.1";

// Present on every glibc system that can run Node.
const systemLibraries = new Set([
  "ld-linux-x86-64.so.2",
  "libc.so.6",
  "libdl.so.2",
  "libgcc_s.so.1",
  "libm.so.6",
  "libpthread.so.0",
  "libstdc++.so.6",
]);

/**
 * The output folder of llama-cpp-sys-2's build script below `releaseDir` (`target/<triple>/release`). Older
 * configurations leave theirs behind: the newest libllama.so is the one that the addon was linked to.
 */
export function findLlamaOutput(releaseDir) {
  const buildDir = join(releaseDir, "build");
  const outputs = existsSync(buildDir)
    ? readdirSync(buildDir)
        .filter((name) => name.startsWith("llama-cpp-sys-2-"))
        .map((name) => join(buildDir, name, "out"))
        .filter((out) => existsSync(join(out, "lib", "libllama.so")))
    : [];
  const age = (out) => statSync(join(out, "lib", "libllama.so")).mtimeMs;
  const newest = outputs.sort((a, b) => age(b) - age(a))[0];
  if (!newest) throw new Failure(`no llama.cpp libraries below ${buildDir}: build the addon first`);
  return newest;
}

/** Every library that goes beside the addon, as absolute paths. */
export function librariesOf(llamaOutput) {
  const modules = readdirSync(join(llamaOutput, "backends"))
    .filter((name) => /^libggml-cpu-.*\.so$/.test(name))
    .sort();
  if (modules.length === 0) throw new Failure(`no CPU modules in ${join(llamaOutput, "backends")}`);
  return [
    ...linkedLibraries.map((name) => join(llamaOutput, "lib", name)),
    ...modules.map((name) => join(llamaOutput, "backends", name)),
  ];
}

/** The compiler's own OpenMP runtime: the one that the CPU modules were compiled for. */
function openMpLibrary() {
  const path = capture(process.env.CC ?? "cc", [`-print-file-name=${openMpRuntime}`]).trim();
  if (!existsSync(path))
    throw new Failure(`the C compiler has no ${openMpRuntime} (Debian package libgomp1)`);
  return realpathSync(path);
}

/**
 * Copies `source` to `folder/name` without its symbol tables. The file is replaced by a rename: a process that
 * has the old one mapped keeps it intact.
 */
function installStripped(source, folder, name = basename(source)) {
  const temporary = join(folder, `${name}.tmp`);
  copyFileSync(realpathSync(source), temporary);
  run("strip", ["--strip-unneeded", temporary]);
  renameSync(temporary, join(folder, name));
}

const isBinary = (name) => /\.(node|so)$|\.so\.\d+$|\.tmp$/.test(name);

export function installPackage(folder, addon, llamaOutput) {
  const libraries = librariesOf(llamaOutput);
  const kept = new Set([...libraries, addon].map((path) => basename(path)).concat(openMpRuntime));
  for (const name of readdirSync(folder).filter(isBinary)) {
    if (!kept.has(name)) rmSync(join(folder, name));
  }
  for (const library of libraries) installStripped(library, folder);
  installStripped(openMpLibrary(), folder, openMpRuntime);
  installStripped(addon, folder);
}

/** Reasons why the libraries in `elves` (name -> readElf) would not load on another machine. */
export function findProblems(elves) {
  const problems = [];
  for (const [name, elf] of elves) {
    const shipped = elf.needed.filter((needed) => elves.has(needed));
    for (const needed of elf.needed) {
      if (!elves.has(needed) && !systemLibraries.has(needed)) problems.push(`${name} needs ${needed}`);
    }
    if (elf.runPaths.some((path) => path !== "$ORIGIN")) {
      problems.push(`${name} looks for libraries in ${elf.runPaths.join(":")}`);
    }
    if (shipped.length > 0 && elf.runPaths.length === 0) {
      problems.push(`${name} needs ${shipped.join(", ")} and has no $ORIGIN run path`);
    }
    if (name.startsWith("lib") && elf.soname !== undefined && elf.soname !== name) {
      problems.push(`${name} calls itself ${elf.soname}`);
    }
  }
  return problems;
}

/** Checks the folder and returns `{ name, bytes, glibc }` of each binary. */
export function checkPackage(folder) {
  const names = readdirSync(folder).filter(isBinary).sort();
  const elves = new Map(names.map((name) => [name, readElf(join(folder, name))]));
  const problems = findProblems(elves);
  if (problems.length > 0) throw new Failure(`${folder} is not self-contained:\n  ${problems.join("\n  ")}`);
  return names.map((name) => ({
    name,
    bytes: statSync(join(folder, name)).size,
    glibc: elves.get(name).glibc,
  }));
}
