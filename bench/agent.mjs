// What a turn of a real elizaOS agent costs, beside the same agent with other engines: node bench/agent.mjs --help
import { fork } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { developmentModel, requireBuild, requireFiles } from "../scripts/lib/demo-models.mjs";
import { done, Failure, main, step, warn } from "../scripts/lib/log.mjs";
import { agentTable } from "./lib/agent/table.mjs";
import { ensurePeers } from "./lib/peers.mjs";

const usage = `usage: node bench/agent.mjs [--engines ours-auto,ours-off,node-llama-cpp] [--kinds direct,group,reflection] [--dialogues N]
                           [--turns N] [--model FILE] [--threads N] [--json FILE]

Holds dialogues of ten turns with an agent of bootstrap, its database (PGlite) and real embeddings, each in a process of its own,
the engines in turn. The table shows medians from the second turn on. Three dialogues of one kind with three engines take about 20
minutes on 2 cores with SmolLM2; keep the machine idle meanwhile.`;

const engines = ["ours-auto", "ours-off", "node-llama-cpp"];
const kinds = ["direct", "group", "reflection"];

const options = {
  engines: { type: "string", default: engines.join(",") },
  kinds: { type: "string", default: kinds.join(",") },
  dialogues: { type: "string", default: "3" },
  turns: { type: "string", default: "10" },
  model: { type: "string" },
  "embedding-model": { type: "string" },
  threads: { type: "string", default: "2" },
  json: { type: "string" },
  help: { type: "boolean", short: "h" },
};

const childFile = fileURLToPath(new URL("lib/agent/child.mjs", import.meta.url));

function chosen(name, text, known) {
  const names = text.split(",").filter(Boolean);
  const unknown = names.find((one) => !known.includes(one));
  if (unknown !== undefined) throw new Failure(`--${name} knows ${known.join(", ")}, not "${unknown}"`);
  return names;
}

/** One dialogue in a process; resolves to the figures of its turns. */
function hold(plan) {
  return new Promise((settle) => {
    const child = fork(childFile, [JSON.stringify(plan)], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    let outcome;
    child.once("message", (message) => {
      outcome = message;
    });
    child.once("exit", (code, signal) => {
      settle(outcome ?? { error: `ended with ${signal ?? `status ${code}`}` });
    });
  });
}

async function run(values) {
  const shared = {
    model: resolve(values.model ?? developmentModel("large")),
    embedding: resolve(values["embedding-model"] ?? developmentModel("embedding")),
    threads: Number(values.threads),
    contextSize: 8192,
    turns: Number(values.turns),
  };
  requireFiles([shared.model, shared.embedding]);
  const wanted = chosen("engines", values.engines, engines);
  ensurePeers(wanted);
  const results = [];
  for (const kind of chosen("kinds", values.kinds, kinds)) {
    for (let number = 0; number < Number(values.dialogues); number += 1) {
      for (const engine of wanted) {
        step(`${kind} ${number + 1}: ${engine}`);
        const { figures, error } = await hold({ ...shared, engine, kind, number });
        if (error !== undefined) warn(`  ${engine}: ${error}`);
        else results.push({ engine, kind, number, figures });
      }
    }
  }
  return { shared, results };
}

await main(async () => {
  const { values } = parseArgs({ options });
  if (values.help) return console.log(usage);
  requireBuild();
  const { shared, results } = await run(values);
  console.log(agentTable(results));
  console.log(`${basename(shared.model)}, ${basename(shared.embedding)}; ${shared.threads} threads`);
  if (values.json === undefined) return;
  mkdirSync(dirname(resolve(values.json)), { recursive: true });
  writeFileSync(values.json, `${JSON.stringify({ date: new Date().toISOString(), results }, null, 2)}\n`);
  done(`the figures are in ${values.json}`);
});
