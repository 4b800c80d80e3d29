// Tokens per second under a schema against free decoding, in turn and several times, for two engines; and what each
// makes of schemas that are easily got wrong.
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

/** Schemas that must not be compiled to something else: instances that must not come out. */
const traps = [
  {
    name: "anyOf integer or null",
    schema: { anyOf: [{ type: "integer" }, { type: "null" }] },
    allows: ["12", "null"],
  },
  {
    name: "pattern",
    schema: { type: "string", pattern: "^[A-Z]{3}$" },
    allows: ['"ABC"'],
    forbids: ['"abc"'],
  },
];

const prompt = "Describe a book as JSON.";
const maxTokens = 128;
const rounds = 5;

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const rate = (tokens, ms) => (1000 * tokens) / ms;

/** Markdown lines with both engines' figures for one model. */
export async function compareSpeed(library, path) {
  const lines = ["", "| engine | free tok/s | schema tok/s | ratio |", "|---|---:|---:|---:|"];
  lines.push(await ours(library, path));
  lines.push(await peer(path));
  return lines.join("\n");
}

async function ours(library, path) {
  const model = await library.LocalModel.load(path, { context: { contextSize: 2048, threads: 2 } });
  const constraint = library.schemaConstraint(schema);
  const once = async (extra) => {
    const request = {
      messages: [{ role: "user", content: prompt }],
      temperature: 0.7,
      maxTokens,
      seed: 1,
      ...extra,
    };
    const { usage } = await model.generate(request).result;
    return usage.decodeTokensPerSecond;
  };
  try {
    // The first constraint of a model prepares its vocabulary.
    await once({ constraint });
    const [free, constrained, counted] = [[], [], []];
    for (let round = 0; round < rounds; round += 1) {
      free.push(await once({ ignoreEos: true }));
      constrained.push(await once({ constraint }));
      counted.push(await once({ constraint, logprobs: 0 }));
    }
    return (
      row("ours", median(free), median(constrained)) +
      row("\nours, every token sampled", median(free), median(counted))
    );
  } finally {
    await model.close();
  }
}

async function peer(path) {
  ensurePeers(["node-llama-cpp"]);
  const { getLlama, LlamaChatSession } = await import("node-llama-cpp");
  const llama = await getLlama({
    gpu: false,
    build: "never",
    skipDownload: true,
    maxThreads: 2,
    logLevel: "error",
  });
  const model = await llama.loadModel({ modelPath: path, gpuLayers: 0 });
  const context = await model.createContext({ contextSize: 2048, threads: 2 });
  const grammar = await llama.createGrammarForJsonSchema(schema);
  const session = new LlamaChatSession({ contextSequence: context.getSequence() });
  const once = async (extra) => {
    session.resetChatHistory();
    let [tokens, first, last] = [0, 0, 0];
    await session.prompt(prompt, {
      ...extra,
      temperature: 0.7,
      seed: 1,
      maxTokens,
      onToken: (chunk) => {
        last = performance.now();
        first ||= last;
        tokens += chunk.length;
      },
    });
    return rate(tokens - 1, last - first);
  };
  try {
    await once({ grammar });
    const [free, constrained] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      free.push(await once({}));
      constrained.push(await once({ grammar }));
    }
    const notes = [];
    for (const trap of traps) notes.push(await judgeTrap(llama, trap));
    return `${row("node-llama-cpp", median(free), median(constrained))}\n\n${notes.join("\n")}`;
  } finally {
    await context.dispose();
    await model.dispose();
  }
}

function row(name, free, constrained) {
  return `| ${name} | ${free.toFixed(0)} | ${constrained.toFixed(0)} | ${(constrained / free).toFixed(2)} |`.replace(
    "| \n",
    "\n| ",
  );
}

async function judgeTrap(llama, { name, schema: trap }) {
  try {
    const grammar = await llama.createGrammarForJsonSchema(trap);
    const text = grammar.grammar ?? grammar._grammar ?? "";
    return `node-llama-cpp, ${name}: compiled${typeof text === "string" && text ? ` to ${JSON.stringify(text.slice(0, 160))}` : ""}`;
  } catch (error) {
    return `node-llama-cpp, ${name}: refused (${error.message.split("\n", 1)[0]})`;
  }
}
