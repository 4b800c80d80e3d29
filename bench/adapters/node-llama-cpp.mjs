// node-llama-cpp with its own prebuilt CPU binaries, through its public completion and embedding classes.
import { readFileSync } from "node:fs";

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
