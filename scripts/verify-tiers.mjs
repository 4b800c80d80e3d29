// Are the tiers loaded as they should be, and does the memory arithmetic hold on this machine? Figures on the last line.
import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { builtParts } from "./lib/built.mjs";
import { requireBuild } from "./lib/demo-models.mjs";
import { done, Failure, formatBytes, main, step, warn } from "./lib/log.mjs";
import { fromRoot, modelsDir } from "./lib/paths.mjs";

const usage = `usage: npm run -s verify:tiers

Checks how every Eliza-1 tier would be loaded here, that none advertises what its decode path does not use, and that the
predicted memory of three real models is within 10 % of what they take (Linux only; the models come with
npm run models -- --only smollm2-135m,gemma3-270m,qwen2.5-coder-0.5b). Exits with 0 if everything holds.`;

const models = [
  "SmolLM2-135M-Instruct.Q4_1.gguf",
  "gemma-3-270m-q4_k_m.gguf",
  "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
];
const contextSize = 4096;
const threads = 2;
const tolerance = 0.1;

/** Each tier resolved for this machine, with its drafter as if it were here. */
function checkTiers(library, machine, assess) {
  const settings = { speculationDisabled: false, preferAccurateKv: false };
  const problems = [];
  for (const tier of library.catalog().tiers) {
    const files = {
      path: `${tier.id}.gguf`,
      drafter: tier.companions.drafter?.file,
    };
    const load = library.resolveLoad({
      model: library.factsOfEntry(tier),
      files,
      machine,
      settings,
      assess,
    });
    problems.push(...library.checkTier(tier, load));
    printTier(library, tier, load);
  }
  if (problems.length > 0)
    throw new Failure(`tiers advertise what they do not do:\n  ${problems.join("\n  ")}`);
  return library.catalog().tiers.length;
}

function printTier(library, tier, load) {
  const { numbers, verdict, reason } = load.fit;
  console.log(`${tier.id}: ${verdict} here, ${formatBytes(numbers.neededBytes)} (${reason})`);
  for (const { field, value, from } of library.describeLoad(load)) {
    if (field !== "path") console.log(`    ${field.padEnd(22)} ${value}  (${from})`);
  }
  for (const { id, state, reason } of load.capabilities)
    console.log(`    ${id.padEnd(22)} ${state}: ${reason}`);
}

function measure(path) {
  return new Promise((resolve, reject) => {
    const child = fork(
      fromRoot("scripts/lib/resident-memory.mjs"),
      [path, JSON.stringify({ contextSize, threads })],
      {
        env: { ...process.env, OMP_THREAD_LIMIT: String(threads) },
      },
    );
    let result;
    child.once("message", (message) => {
      result = message;
    });
    child.once("error", reject);
    child.once("exit", (code) =>
      result === undefined
        ? reject(new Failure(`measuring ${path} ended with status ${code}`))
        : resolve(result),
    );
  });
}

async function checkMemory(library, assess) {
  const missing = models.filter((name) => !existsSync(join(modelsDir(), name)));
  if (missing.length > 0) {
    const ids = "smollm2-135m,gemma3-270m,qwen2.5-coder-0.5b";
    throw new Failure(`${missing.join(", ")}: missing. Run: npm run models -- --only ${ids}`);
  }
  const figures = [];
  for (const name of models) {
    const path = join(modelsDir(), name);
    step(`measuring ${name} with ${contextSize} tokens of context`);
    const { measured, kvTypeK, kvTypeV, kvReported } = await measure(path);
    const { shape } = await library.factsOfFile(path);
    const options = { memoryAvailable: 2 ** 40, contextSize, kvTypeK, kvTypeV };
    const predicted = assess(shape, options);
    // llama.cpp reports hundredths of a MiB.
    if (Math.abs(predicted.kvBytes - kvReported) > 2 ** 20 / 50) {
      const sizes = `${formatBytes(kvReported)} instead of ${formatBytes(predicted.kvBytes)}`;
      throw new Failure(`${name}: llama.cpp allocates a KV cache of ${sizes}`);
    }
    const error = predicted.neededBytes / measured - 1;
    figures.push({ name, predicted: predicted.neededBytes, measured, error });
  }
  const off = figures.filter(({ error }) => Math.abs(error) > tolerance);
  if (off.length > 0)
    throw new Failure(`the prediction is off by more than 10 %:\n${off.map(line).join("\n")}`);
  return figures;
}

const line = ({ name, predicted, measured, error }) =>
  `${name.split(/[.-]Q4|-q4/)[0]} predicted ${formatBytes(predicted)}, measured ${formatBytes(measured)} (${(error * 100).toFixed(1)} %)`;

await main(async () => {
  if (process.argv.includes("--help")) return console.log(usage);
  requireBuild();
  const start = performance.now();
  const library = await builtParts(
    "active-model/resolve-load",
    "active-model/tier-contract",
    "native/machine",
    "public/models",
  );
  const { assessFit } = await import(fromRoot("index.js"));
  const machine = await library.machineFacts();
  step("resolving the tiers for this machine");
  const tiers = checkTiers(library, machine, assessFit);
  if (process.platform !== "linux") warn("memory can be measured on Linux only");
  const figures = process.platform === "linux" ? await checkMemory(library, assessFit) : [];
  done("everything holds");
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log([`${tiers} tiers keep the contract`, ...figures.map(line), `${seconds} s in all`].join("; "));
});
