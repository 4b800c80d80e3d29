// Random requests, cancels, evictions and model changes for a while. Every request must end once, give what it gives
// alone, and leave no memory behind. `npm run -s soak -- --minutes 30`
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { developmentModel, modelsToUse, requireBuild } from "./lib/demo-models.mjs";
import { done, Failure, formatBytes, main, step } from "./lib/log.mjs";
import { fromRoot } from "./lib/paths.mjs";
import { SoakWorkload } from "./lib/soak-workload.mjs";

const usage = `usage: npm run -s soak -- [--minutes 2] [--seed 1] [--workers 6]`;
const ROUND_MS = 10_000;
/** Anonymous memory that may come between the second and the last quarter of the rounds. */
const MOST_GROWTH = 16e6;

/** Memory of this process that no file backs, in bytes; undefined where the system does not say. */
function anonymousMemory() {
  try {
    const rollup = readFileSync("/proc/self/smaps_rollup", "utf8");
    return Number(/^Anonymous:\s+(\d+) kB/m.exec(rollup)?.[1]) * 1024;
  } catch {
    return undefined;
  }
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Growth from the second quarter of the samples to the last one; the first quarter warms up. */
function growth(samples) {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  return median(samples.slice(-quarter)) - median(samples.slice(quarter, 2 * quarter));
}

async function soak({ minutes, seed, workers }) {
  const library = await import(fromRoot("dist/index.js"));
  const { large, embedding } = await modelsToUse();
  const folder = mkdtempSync(join(tmpdir(), "local-inference-soak-"));
  const workload = new SoakWorkload(library, {
    chat: large.path,
    other: developmentModel("other"),
    embedding: embedding.path,
    folder,
    seed,
  });
  const samples = [];
  try {
    step("what each request gives alone");
    await workload.prepare();
    const end = performance.now() + minutes * 60_000;
    while (performance.now() < end) {
      await workload.round(Math.min(ROUND_MS, end - performance.now()), workers);
      await workload.releaseAll();
      globalThis.gc?.();
      const memory = anonymousMemory();
      if (memory !== undefined) samples.push(memory);
      step(`${workload.summary()}${memory === undefined ? "" : `; ${formatBytes(memory)} anonymous`}`);
    }
  } finally {
    await workload.close();
    rmSync(folder, { recursive: true, force: true });
  }
  if (workload.compared === 0) throw new Failure("no answer was compared: run it longer");
  const grown = samples.length >= 4 ? growth(samples) : undefined;
  if (grown > MOST_GROWTH)
    throw new Failure(`memory grew by ${formatBytes(grown)}: ${samples.map(formatBytes)}`);
  return [
    workload.summary(),
    ...(grown === undefined ? [] : [`memory grew by ${formatBytes(Math.max(0, grown))}`]),
  ];
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "2" },
      seed: { type: "string", default: "1" },
      workers: { type: "string", default: "6" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return console.log(usage);
  requireBuild();
  const [minutes, seed, workers] = [values.minutes, values.seed, values.workers].map(Number);
  const figures = await soak({ minutes, seed, workers });
  done("everything ended once and as it does alone");
  console.log(figures.join("; "));
});
