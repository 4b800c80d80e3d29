// Archives of registry packages, by name and version, with the ordinary clients; nothing is installed or run.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure, step, warn } from "../log.mjs";
import { run } from "../run.mjs";
import { sha256Of } from "./verify.mjs";

const attempts = 3;
const quiet = process.stderr.isTTY ? [] : ["--quiet"];

async function keptArchive(folder, sha256) {
  if (!existsSync(folder)) return undefined;
  for (const name of readdirSync(folder)) {
    if (!/\.(whl|tgz|tar\.gz)$/.test(name)) continue;
    const path = join(folder, name);
    if ((await sha256Of(path)) === sha256) return path;
    rmSync(path);
  }
  return undefined;
}

function downloadWheel({ name, version, sha256 }, folder) {
  const requirements = join(folder, "requirements.txt");
  writeFileSync(requirements, `${name}==${version} --hash=sha256:${sha256}\n`);
  const checks = ["--no-deps", "--only-binary=:all:", "--require-hashes"];
  const options = [...quiet, ...checks, "--disable-pip-version-check", "--dest", folder];
  run("python3", ["-m", "pip", "download", ...options, "--requirement", requirements], { stdout: "stderr" });
}

function downloadTarball({ name, version }, folder) {
  run("npm", ["pack", `${name}@${version}`, "--ignore-scripts", "--silent", "--pack-destination", folder], {
    stdout: "ignore",
  });
}

/** pip would run a source package to learn its name; unearth only downloads it. */
function downloadSource({ name, version }, folder) {
  const tools = join(folder, "tools");
  const pip = ["-m", "pip", "install", ...quiet, "--disable-pip-version-check", "--target", tools];
  run("python3", [...pip, "unearth==0.19.0"], { stdout: "stderr" });
  run("python3", ["-m", "unearth", "--no-binary", "--download", folder, `${name}==${version}`], {
    stdout: "stderr",
    env: { PYTHONPATH: tools },
  });
  rmSync(tools, { recursive: true, force: true });
}

async function fetchOne(entry, folder, download) {
  for (let attempt = 1; ; attempt += 1) {
    const kept = await keptArchive(folder, entry.sha256);
    if (kept) return kept;
    if (attempt > attempts) throw new Failure(`${entry.name} ${entry.version} is not the pinned archive`);
    mkdirSync(folder, { recursive: true });
    try {
      download(entry, folder);
    } catch (error) {
      if (attempt === attempts) throw error;
      warn(`${error.message}; trying again`);
    }
  }
}

/** Paths of the archives of `packages`, in order, downloaded into `folder` unless a good copy is there already. */
async function fetchAll(packages, folder, download) {
  const paths = [];
  for (const [index, entry] of packages.entries()) {
    step(`  package ${index + 1} of ${packages.length}: ${entry.name} ${entry.version}`);
    paths.push(await fetchOne(entry, join(folder, `${entry.name}-${entry.version}`), download));
  }
  return paths;
}

export const fetchWheels = (packages, folder) => fetchAll(packages, folder, downloadWheel);
export const fetchTarballs = (packages, folder) => fetchAll(packages, folder, downloadTarball);
export const fetchSources = (packages, folder) => fetchAll(packages, folder, downloadSource);
