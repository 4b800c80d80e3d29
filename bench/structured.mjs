// Structured output at length: many answers for each form, an agent that must reply, and the speed of constrained
// decoding beside free decoding and beside node-llama-cpp: node bench/structured.mjs --help
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { builtParts } from "../scripts/lib/built.mjs";
import { requireBuild } from "../scripts/lib/demo-models.mjs";
import { Failure, main, step } from "../scripts/lib/log.mjs";
import { fromRoot, modelsDir } from "../scripts/lib/paths.mjs";
import { startTalker } from "../scripts/lib/structured-agent.mjs";
import { builtForms, runCase, structuredCases } from "../scripts/lib/structured-cases.mjs";
import { compareSpeed } from "./lib/structured-speed.mjs";

const usage = `usage: node bench/structured.mjs [--models A.gguf,B.gguf] [--count 1000] [--tokens 48] [--agent 100] [--speed] [--lanes 4]

--count N   answers for each form, at temperature 1.2; 0 leaves this out
--tokens N  half of them have at most N / 2 tokens, most of which are cut short and closed, the others 2 N
--agent N   messages to a real agent with bootstrap, each in a room of its own; 0 leaves this out
--speed     constrained and free decoding side by side, ours and node-llama-cpp's
Exits with 0 if every answer has its form and every message is replied to with one TEXT_LARGE call.`;

const options = {
  models: {
    type: "string",
    default: "SmolLM2-135M-Instruct.Q4_1.gguf,qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
  },
  count: { type: "string", default: "1000" },
  tokens: { type: "string", default: "48" },
  agent: { type: "string", default: "100" },
  lanes: { type: "string", default: "4" },
  speed: { type: "boolean", default: false },
  help: { type: "boolean", short: "h" },
};

const questions = [
  "Hello!",
  "Who are you?",
  "What is the capital of France?",
  "Tell me a joke.",
  "2 + 2 = ?",
];

function whole(name, text) {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0) return value;
  throw new Failure(`--${name} must be a whole number, not "${text}"`);
}

async function runCases(library, path, { count, tokens, lanes }) {
  const model = await library.LocalModel.load(path, { context: { contextSize: 4096, parallel: lanes } });
  const rows = [];
  try {
    for (const one of await structuredCases(await builtForms())) {
      step(`${basename(path)}: ${count} answers: ${one.name}`);
      rows.push(await runCase(model, one, { count, limits: [Math.ceil(tokens / 2), 2 * tokens], lanes }));
    }
  } finally {
    await model.close();
  }
  return rows;
}

async function runAgent(library, path, count) {
  const talker = await startTalker({
    plugin: library.default,
    model: path,
    settings: { TEXT_LARGE_MAX_TOKENS: "160" },
  });
  const started = performance.now();
  const failures = [];
  try {
    for (let index = 0; index < count; index += 1) {
      if (index % 10 === 0) step(`${basename(path)}: message ${index + 1} of ${count}`);
      const outcome = await talker.say(questions[index % questions.length], `room-${index}`);
      if (!outcome.replied || outcome.calls !== 1) failures.push({ index, ...outcome });
    }
  } finally {
    await talker.stop();
  }
  return { count, failures, ms: performance.now() - started };
}

function printCases(path, rows) {
  console.log(`\n${basename(path)}\n\n| form | valid | cut short | tokens | determined | refused | s |`);
  console.log("|---|---:|---:|---:|---:|---:|---:|");
  for (const { name, count, failures, limits, tokens, forced, refused, ms } of rows) {
    const part = (value) => `${((100 * value) / tokens).toFixed(0)} %`;
    const valid = `${count - failures.length}/${count}`;
    const seconds = (ms / 1000).toFixed(0);
    console.log(
      `| ${name} | ${valid} | ${limits} | ${tokens} | ${part(forced)} | ${part(refused)} | ${seconds} |`,
    );
    for (const failure of failures.slice(0, 3)) console.log(`<!-- ${JSON.stringify(failure)} -->`);
  }
}

await main(async () => {
  const { values } = parseArgs({ options });
  if (values.help) return console.log(usage);
  requireBuild();
  const library = await import(fromRoot("dist/index.js"));
  const { resolveModel } = await builtParts("catalog/models-dir");
  const read = ["count", "tokens", "agent", "lanes"].map((name) => [name, whole(name, values[name])]);
  const { count, agent, ...plan } = Object.fromEntries(read);
  let failures = 0;
  for (const name of values.models.split(",").filter(Boolean)) {
    const path = await resolveModel(name, modelsDir());
    if (count > 0) {
      const rows = await runCases(library, path, { count, ...plan });
      printCases(path, rows);
      failures += rows.reduce((sum, row) => sum + row.failures.length, 0);
    }
    if (agent > 0) {
      const result = await runAgent(library, path, agent);
      const replied = result.count - result.failures.length;
      console.log(
        `\nagent: ${replied} of ${result.count} replied with one call, ${(result.ms / result.count / 1000).toFixed(1)} s each`,
      );
      for (const failure of result.failures.slice(0, 3)) console.log(JSON.stringify(failure));
      failures += result.failures.length;
    }
    if (values.speed) console.log(compareSpeed(path));
  }
  if (failures > 0) throw new Failure(`${failures} answers are not what was asked for`);
});
