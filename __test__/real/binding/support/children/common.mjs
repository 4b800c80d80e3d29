// What the scripts share: the addon and the models. Plain JavaScript, so that any runtime executes it.
import { writeSync } from "node:fs";
import { join } from "node:path";
import { modelsDir } from "../../../../../scripts/lib/paths.mjs";

process.env.GOMP_SPINCOUNT ??= "1000";

export const addon = await import(new URL("../../../../../index.js", import.meta.url).href);

export const CHAT = join(modelsDir(), "SmolLM2-135M-Instruct.Q4_1.gguf");
export const EMBEDDING = join(modelsDir(), "all-MiniLM-L6-v2-f16.gguf");
export const TINY = join(modelsDir(), "tiny.gguf");

export const ENDLESS = { prompt: "a", ignoreEos: true, temperature: 0, maxTokens: 2000 };

/** Written at once: a process that exits takes buffered output with it. */
export const say = (text) => writeSync(1, `${text}\n`);

export const load = (path) => addon.loadModel(path, {}).result();

export async function openTiny(threads = 1) {
  const model = await load(TINY);
  return { model, context: await model.openContext({ contextSize: 2048, threads }) };
}

export async function tokensOf(stream) {
  let tokens = 0;
  for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) tokens += chunk.tokens;
  return tokens;
}
