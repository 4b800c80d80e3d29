// Measures this engine and others on the same models and prompts: node bench/run.mjs --help
import { fork } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { basename, dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { developmentModel, requireBuild, requireFiles } from "../scripts/lib/demo-models.mjs";
import { done, Failure, main, step, warn } from "../scripts/lib/log.mjs";
import { rows as concurrencyRows } from "./lib/concurrency-rows.mjs";
import { ensurePeers } from "./lib/peers.mjs";
import { rows as engineRows, withDerived } from "./lib/rows.mjs";
import { medians } from "./lib/statistics.mjs";
import { formatNumber, markdownTable } from "./lib/table.mjs";

const usage = `usage: node bench/run.mjs [--suite engine|concurrency|agent] [--adapters ours,node-llama-cpp] [--rounds N] [--model FILE]
                         [--embedding-model FILE] [--threads N] [--json FILE]

Each round starts one process for each adapter, in turn, and the table shows medians over the rounds. The goals in it
are those of docs/performance.md. A run of 3 rounds takes about 5 minutes on 2 cores; keep the machine idle meanwhile.`;

const suiteRows = { engine: engineRows, concurrency: concurrencyRows };

const options = {
  suite: { type: "string", default: "engine" },
  adapters: { type: "string", default: "ours,node-llama-cpp" },
  rounds: { type: "string", default: "3" },
  model: { type: "string" },
  "embedding-model": { type: "string" },
  threads: { type: "string", default: "2" },
  json: { type: "string" },
  help: { type: "boolean", short: "h" },
};

const childFile = fileURLToPath(new URL("lib/child.mjs", import.meta.url));
const adapterFile = (name) => fileURLToPath(new URL(`adapters/${name}.mjs`, import.meta.url));

function positive(name, text) {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new Failure(`--${name} must be a whole number above 0, not "${text}"`);
}

function readPlan(values) {
  const adapters = values.adapters.split(",").filter(Boolean);
  for (const name of adapters) {
    if (!/^[\w-]+$/.test(name) || !existsSync(adapterFile(name))) {
      throw new Failure(`there is no adapter "${name}" in bench/adapters`);
    }
  }
  // Ours leads the table, so that ratios are ours over the peer's.
  adapters.sort((a, b) => Number(b === "ours") - Number(a === "ours"));
  const { suite } = values;
  if (suiteRows[suite] === undefined)
    throw new Failure(`--suite must be engine or concurrency, not "${suite}"`);
  const shared = {
    suite,
    model: resolve(values.model ?? developmentModel("large")),
    embeddingModel: resolve(values["embedding-model"] ?? developmentModel("embedding")),
    threads: positive("threads", values.threads),
    contextSize: 2048,
    batchSize: 512,
  };
  return { adapters, rounds: positive("rounds", values.rounds), shared };
}

/** Runs one process; resolves to what it reported, or to the reason why it reported nothing. */
function measure(adapter, shared) {
  return new Promise((resolve) => {
    const child = fork(childFile, [JSON.stringify({ ...shared, adapter })], {
      execArgv: ["--expose-gc"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    let result;
    child.once("message", (message) => {
      result = message;
    });
    child.once("error", (error) => resolve({ errors: { process: error.message } }));
    child.once("exit", (code, signal) => {
      resolve(result ?? { errors: { process: `ended with ${signal ?? `status ${code}`}` } });
    });
  });
}

async function runRounds({ adapters, rounds, shared }) {
  const results = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const adapter of adapters) {
      step(`round ${round} of ${rounds}: ${adapter}`);
      const result = await measure(adapter, shared);
      for (const [name, reason] of Object.entries(result.errors)) {
        warn(`  ${adapter}: ${name} failed: ${reason}`);
      }
      results.push({ round, adapter, ...result });
    }
  }
  return results;
}

function summarise({ adapters, shared }, results) {
  return adapters.map((name) => {
    const own = results.filter((result) => result.adapter === name && result.figures !== undefined);
    if (own.length === 0) throw new Failure(`no process of ${name} got as far as reporting`);
    const figures = withDerived(suiteRows[shared.suite], medians(own.map((result) => result.figures)));
    return { name, version: own[0].version, facts: own[0].facts, figures };
  });
}

function printReport(plan, results, columns) {
  console.log(markdownTable(suiteRows[plan.shared.suite], columns));
  for (const { version, facts, figures } of columns) {
    const details = Object.values(facts).filter(Boolean).join(", ");
    const others = formatNumber(figures.othersCores);
    console.log(`${version}${details && ` (llama.cpp ${details})`}; other processes used ${others} cores`);
  }
  const { model, embeddingModel, threads } = plan.shared;
  console.log(
    `${basename(model)}, ${basename(embeddingModel)}; ${threads} threads, ${plan.rounds} rounds; ` +
      `${cpus()[0]?.model ?? process.arch}, ${cpus().length} cores, Node ${process.versions.node}`,
  );
  const prompts = results.map((result) => result.prompts).filter(Boolean);
  if (new Set(prompts).size > 1) {
    warn("the engines did not all measure the same prompts: their figures do not compare");
  }
}

function writeJson(file, plan, results, columns) {
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, memory: totalmem(), node: process.version };
  const { model, embeddingModel, ...settings } = plan.shared;
  const models = { model: basename(model), embeddingModel: basename(embeddingModel) };
  const report = { date: new Date().toISOString(), machine, ...models, settings, columns, results };
  mkdirSync(dirname(resolve(file)), { recursive: true });
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  done(`the figures are in ${file}`);
}

/** The agent has options of its own: node bench/agent.mjs --help */
async function runAgent() {
  process.argv = process.argv.filter(
    (word, index, all) => word !== "--suite" && all[index - 1] !== "--suite",
  );
  await import("./agent.mjs");
}

await main(async () => {
  const at = process.argv.indexOf("--suite");
  if (process.argv[at + 1] === "agent" && at > 0) return runAgent();
  const { values } = parseArgs({ options });
  if (values.help) return console.log(usage);
  const plan = readPlan(values);
  if (plan.adapters.includes("ours")) requireBuild();
  requireFiles([plan.shared.model, plan.shared.embeddingModel]);
  ensurePeers(plan.adapters);
  const results = await runRounds(plan);
  const columns = summarise(plan, results);
  printReport(plan, results, columns);
  if (values.json) writeJson(values.json, plan, results, columns);
});
