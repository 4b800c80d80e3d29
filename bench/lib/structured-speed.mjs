// Tokens per second under a schema against free decoding, in turn and several times, for two engines. Each has a process of
// its own: two llama.cpp libraries of the same names do not live in one.
//   node structured-speed.mjs ours|peer MODEL    prints the figures of one engine as JSON
import { execFileSync } from "node:child_process";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { fromRoot } from "../../scripts/lib/paths.mjs";
import { ensurePeers } from "./peers.mjs";

const schema = {
  type: "object",
  properties: {
    title: { type: "string", maxLength: 60 },
    summary: { type: "string", maxLength: 400 },
    year: { type: "integer" },
    tags: { type: "array", items: { type: "string", maxLength: 20 }, minItems: 2, maxItems: 6 },
  },
  required: ["title", "summary", "year", "tags"],
};

const prompt = "Describe a book as JSON.";
const maxTokens = 128;
const rounds = 7;
const file = fileURLToPath(import.meta.url);

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const rate = (tokens, ms) => (1000 * tokens) / ms;

/** Markdown lines with both engines' figures for one model. */
export function compareSpeed(path) {
  ensurePeers(["node-llama-cpp"]);
  const lines = ["", "| engine | free tok/s | schema tok/s | ratio |", "|---|---:|---:|---:|"];
  for (const engine of Object.keys(engines)) {
    const text = execFileSync(process.execPath, [file, engine, path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    for (const { name, free, constrained } of JSON.parse(text)) {
      const ratio = median(constrained.map((value, round) => value / free[round]));
      const figures = [median(free).toFixed(0), median(constrained).toFixed(0), ratio.toFixed(2)];
      lines.push(`| ${[name, ...figures].join(" | ")} |`);
    }
  }
  return lines.join("\n");
}

async function ours(path) {
  const library = await import(fromRoot("dist/index.js"));
  const model = await library.LocalModel.load(path, {
    context: { contextSize: 2048, threads: 2, parallel: 1 },
  });
  const constraint = library.schemaConstraint(schema);
  const once = async (extra) => {
    const messages = [{ role: "user", content: prompt }];
    const { usage } = await model.generate({ messages, temperature: 0.7, maxTokens, seed: 1, ...extra })
      .result;
    return usage.decodeTokensPerSecond;
  };
  const [free, constrained, sampled] = [[], [], []];
  try {
    // The first constraint of a model prepares its vocabulary.
    await once({ constraint });
    for (let round = 0; round < rounds; round += 1) {
      free.push(await once({ ignoreEos: true }));
      constrained.push(await once({ constraint }));
      sampled.push(await once({ constraint, logprobs: 0 }));
    }
  } finally {
    await model.close();
  }
  return [
    { name: "ours", free, constrained },
    { name: "ours, every token sampled", free, constrained: sampled },
  ];
}

async function peer(path) {
  const { getLlama, LlamaChatSession } = await import("node-llama-cpp");
  const settings = { gpu: false, build: "never", skipDownload: true, maxThreads: 2, logLevel: "error" };
  const llama = await getLlama(settings);
  const model = await llama.loadModel({ modelPath: path, gpuLayers: 0 });
  const context = await model.createContext({ contextSize: 2048, threads: 2 });
  const grammar = await llama.createGrammarForJsonSchema(schema);
  const session = new LlamaChatSession({ contextSequence: context.getSequence() });
  const once = async (extra) => {
    session.resetChatHistory();
    let [tokens, first, last] = [0, 0, 0];
    const onToken = (chunk) => {
      last = performance.now();
      first ||= last;
      tokens += chunk.length;
    };
    await session.prompt(prompt, { ...extra, temperature: 0.7, seed: 1, maxTokens, onToken });
    return rate(tokens - 1, last - first);
  };
  const [free, constrained] = [[], []];
  try {
    await once({ grammar });
    for (let round = 0; round < rounds; round += 1) {
      free.push(await once({}));
      constrained.push(await once({ grammar }));
    }
  } finally {
    await context.dispose();
    await model.dispose();
  }
  return [{ name: "node-llama-cpp", free, constrained }];
}

const engines = { ours, peer };

if (argv[1] === file) console.log(JSON.stringify(await engines[argv[2]](argv[3])));
