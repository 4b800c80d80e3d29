// The engine of this package, without elizaOS around it.
import { readFileSync } from "node:fs";

const built = (file) => new URL(`../../dist/${file}`, import.meta.url).href;

export function version() {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return `local-inference ${version}`;
}

export async function start() {
  const [{ LocalModel }, { backendInfo }] = await Promise.all([
    import(built("engine/model.js")),
    import(built("native/machine.js")),
  ]);
  const { llamaVersion, cpuModule } = await backendInfo();
  return {
    openText: (path, options) => openText(LocalModel, path, options),
    openShared: (path, options) => openShared(LocalModel, path, options),
    openEmbedder: (path, options) => openEmbedder(LocalModel, path, options),
    describe: () => ({ llamaVersion, cpuModule }),
  };
}

async function openText(LocalModel, path, { contextSize, batchSize, threads }) {
  const model = await LocalModel.load(path, { gpuLayers: 0 });
  const kv = { kvTypeK: "f16", kvTypeV: "f16" };
  // One sequence, as the peers have: with several, the tokens of earlier prompts stay and are looked at.
  const context = await model.createContext({ contextSize, batchSize, threads, parallel: 1, ...kv });
  return {
    countTokens: (text) => model.countTokens(text, { bos: true }),
    async generate(prompt, { maxTokens, signal, onTokens }) {
      const generation = context.generate({ prompt, maxTokens, temperature: 0 }, { signal });
      for await (const piece of generation) onTokens(piece.tokens);
    },
    close: () => model.close(),
  };
}

async function openShared(LocalModel, path, { contextSize, batchSize, threads, sequences, folder }) {
  const model = await LocalModel.load(path, { gpuLayers: 0 });
  const kv = { kvTypeK: "f16", kvTypeV: "f16" };
  const state = folder === undefined ? {} : { state: { folder, onBattery: true } };
  const options = { contextSize, batchSize, threads, parallel: sequences, ...kv, ...state };
  const context = await model.createContext(options);
  return {
    countTokens: (text) => model.countTokens(text, { bos: true }),
    async generate(prompt, { maxTokens, signal, onTokens, lane, conversation }) {
      const request = { prompt, maxTokens, temperature: 0, lane, conversation };
      for await (const piece of context.generate(request, { signal })) onTokens(piece.tokens);
    },
    close: () => model.close(),
  };
}

async function openEmbedder(LocalModel, path, { threads }) {
  const model = await LocalModel.load(path, { gpuLayers: 0 });
  const embedder = await model.createEmbedder({ threads });
  return {
    countTokens: (text) => model.countTokens(text, { bos: true }),
    embed: async (text) => (await embedder.embed([text])).vectors[0],
    close: () => model.close(),
  };
}
