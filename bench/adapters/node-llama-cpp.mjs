// node-llama-cpp with its own prebuilt CPU binaries, through its public completion and embedding classes.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const packageFile = new URL("../node_modules/node-llama-cpp/package.json", import.meta.url);

export function version() {
  return `node-llama-cpp ${JSON.parse(readFileSync(packageFile, "utf8")).version}`;
}

export async function start({ threads }) {
  const library = await import("node-llama-cpp");
  const llama = await library.getLlama({
    gpu: false,
    build: "never",
    skipDownload: true,
    maxThreads: threads,
    logLevel: "error",
  });
  return {
    openText: (path, options) => openText(library, llama, path, options),
    openShared: (path, options) => openShared(library, llama, path, options),
    openEmbedder: (path, options) => openEmbedder(llama, path, options),
    describe: () => ({ llamaVersion: llama.llamaCppRelease.release, cpuModule: undefined }),
  };
}

async function openText({ LlamaCompletion }, llama, modelPath, { contextSize, batchSize, threads }) {
  const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
  const context = await model.createContext({ contextSize, batchSize, threads, flashAttention: "auto" });
  const completion = new LlamaCompletion({ contextSequence: context.getSequence() });
  const begins = model.tokens.shouldPrependBosToken && model.tokens.bos !== null ? 1 : 0;
  return {
    countTokens: async (text) => model.tokenize(text).length + begins,
    async generate(prompt, { maxTokens, signal, onTokens }) {
      await completion.generateCompletion(prompt, {
        maxTokens,
        signal,
        temperature: 0,
        // The default penalises repeated tokens: another text and more work for each token.
        repeatPenalty: false,
        onToken: (tokens) => onTokens(tokens.length),
      });
    },
    async close() {
      completion.dispose();
      await context.dispose();
      await model.dispose();
    },
  };
}

/** A context with several sequences; a request takes the one that was free last, which may hold its beginning. */
async function openShared({ LlamaCompletion }, llama, modelPath, options) {
  const { contextSize, batchSize, threads, sequences, folder } = options;
  const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
  const context = await model.createContext({
    contextSize,
    batchSize,
    threads,
    sequences,
    flashAttention: "auto",
  });
  const free = Array.from({ length: sequences }, () => {
    const sequence = context.getSequence();
    return { sequence, completion: new LlamaCompletion({ contextSequence: sequence }) };
  });
  const all = [...free];
  const begins = model.tokens.shouldPrependBosToken && model.tokens.bos !== null ? 1 : 0;
  return {
    countTokens: async (text) => model.tokenize(text).length + begins,
    async generate(prompt, { maxTokens, signal, onTokens, conversation }) {
      const taken = free.pop();
      if (taken === undefined) throw new Error("more requests than sequences");
      const file = folder && conversation && join(folder, `${conversation}.bin`);
      try {
        if (file && existsSync(file)) await taken.sequence.loadStateFromFile(file, { acceptRisk: true });
        await taken.completion.generateCompletion(prompt, {
          maxTokens,
          signal,
          temperature: 0,
          repeatPenalty: false,
          onToken: (tokens) => onTokens(tokens.length),
        });
        if (file) await taken.sequence.saveStateToFile(file);
      } finally {
        free.push(taken);
      }
    },
    async close() {
      for (const { completion } of all) completion.dispose();
      await context.dispose();
      await model.dispose();
    },
  };
}

async function openEmbedder(llama, modelPath, { threads }) {
  const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
  const context = await model.createEmbeddingContext({ threads });
  return {
    countTokens: async (text) => context.calculateInputLength(text),
    embed: async (text) => (await context.getEmbeddingFor(text)).vector,
    async close() {
      await context.dispose();
      await model.dispose();
    },
  };
}
