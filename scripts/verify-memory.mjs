// Do models of more than 2 GiB together take turns under 2 GiB without being killed? Figures on the last line.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { requireBuild } from "./lib/demo-models.mjs";
import { done, Failure, formatBytes, main, step, warn } from "./lib/log.mjs";
import { memoryGroup } from "./lib/memory-group.mjs";
import { fromRoot, modelsDir } from "./lib/paths.mjs";

const usage = `usage: npm run -s verify:memory

Runs a text model of 1.1 GB, one of 0.5 GB and an embedding model in turn in a control group of 2 GiB, and checks that idle
models leave for the others, that every turn gives the same answer, and that nothing is killed. Needs Linux, the right to
make a control group, and the models (npm run models -- --only qwen2.5-coder-1.5b,qwen2.5-coder-0.5b,all-minilm-l6-v2).
Exits with 0 if everything holds, and also, with a warning, where no control group can be made.`;

const limit = 2 ** 31;
const rounds = 3;
const timeLimitMs = 240_000;
const models = [
  "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
  "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
  "all-MiniLM-L6-v2-f16.gguf",
].map((name) => join(modelsDir(), name));

function run(group) {
  const child = group.spawn(
    process.execPath,
    [fromRoot("scripts/lib/memory-turns.mjs"), ...models, String(rounds)],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, OMP_THREAD_LIMIT: "2", LOG_LEVEL: "error" },
    },
  );
  const timer = setTimeout(() => child.kill("SIGKILL"), timeLimitMs);
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve(JSON.parse(output.trim().split("\n").at(-1)));
      else reject(new Failure(`the models ended with ${signal ?? `status ${code}`}`));
    });
  });
}

function check({ memoryTotal, answers, unloads }, kills) {
  if (memoryTotal > limit) throw new Failure(`the limit is not seen: ${formatBytes(memoryTotal)} of memory`);
  if (kills > 0) throw new Failure(`${kills} process(es) were killed for want of memory`);
  const round = JSON.stringify(answers.slice(0, 4));
  for (let i = 4; i < answers.length; i += 4) {
    if (JSON.stringify(answers.slice(i, i + 4)) !== round)
      throw new Failure("the answers of two rounds differ");
  }
  if (unloads.room === 0) throw new Failure("no model left for another");
}

await main(async () => {
  if (process.argv.includes("--help")) return console.log(usage);
  requireBuild();
  const missing = models.filter((path) => !existsSync(path));
  if (missing.length > 0) throw new Failure(`missing: ${missing.join(", ")}`);
  const group = memoryGroup(limit);
  if (group.spawn === undefined) {
    warn(`no control group can be made here: ${group.reason}`);
    return console.log("not checked: no control group can be made");
  }
  const start = performance.now();
  step(`${rounds} rounds under ${formatBytes(limit)}`);
  try {
    const result = await run(group);
    check(result, group.kills());
    done("everything holds");
    const peak = group.peak();
    const figures = [
      `${result.answers.length} turns`,
      `${result.unloads.room} evictions for room, ${result.unloads.pressure} for pressure`,
      `resident at most ${formatBytes(result.highest)}`,
      ...(peak === undefined ? [] : [`with page cache ${formatBytes(peak)} of ${formatBytes(limit)}`]),
      `${group.kills()} killed`,
      `${((performance.now() - start) / 1000).toFixed(1)} s in all`,
    ];
    console.log(figures.join("; "));
  } finally {
    group.remove();
  }
});
