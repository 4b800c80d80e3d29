// How long a process takes to import an entry of the package and to ask for the backend: medians of interleaved runs.
import { spawnSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { requireBuild } from "../scripts/lib/demo-models.mjs";
import { Failure, main } from "../scripts/lib/log.mjs";
import { fromRoot } from "../scripts/lib/paths.mjs";

const ROUNDS = 11;
const ENTRIES = { "./engine": "dist/public/engine.js", ".": "dist/index.js" };

const source = (file) => `
  const cpu = () => Object.values(process.cpuUsage()).reduce((sum, part) => sum + part, 0) / 1000;
  const start = [performance.now(), cpu()];
  const { backendInfo } = await import(${JSON.stringify(pathToFileURL(fromRoot(file)).href)});
  const imported = performance.now();
  await backendInfo();
  const [wall, used] = [performance.now() - start[0], cpu() - start[1]];
  console.log(JSON.stringify({ imported: imported - start[0], wall, used }));`;

function once(file) {
  const args = ["--input-type=module", "--eval", source(file)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Failure(stderr.trim());
  return JSON.parse(stdout);
}

function median(values) {
  return values.sort((left, right) => left - right)[Math.floor(values.length / 2)];
}

await main(() => {
  requireBuild();
  const runs = Object.fromEntries(Object.keys(ENTRIES).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, file] of Object.entries(ENTRIES)) runs[name].push(once(file));
  }
  for (const [name, all] of Object.entries(runs)) {
    const of = (key) => median(all.map((run) => run[key])).toFixed(0);
    const cpu = `${of("used")} ms of processor time`;
    console.log(`${name}: imported after ${of("imported")} ms, backend known after ${of("wall")} ms, ${cpu}`);
  }
});
