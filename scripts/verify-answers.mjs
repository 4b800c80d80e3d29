// Does this machine's build give right answers and stop when told to? Prints its figures on the last line.
import { basename } from "node:path";
import { checkAnswer, checkCancel, checkEmbeddings } from "./lib/demo-checks.mjs";
import { modelsToUse } from "./lib/demo-models.mjs";
import { step } from "./lib/log.mjs";
import { verify } from "./lib/verify.mjs";

const usage = `usage: npm run -s verify:answers

Checks the built package with the development models (npm run models). LOCAL_LARGE_MODEL and LOCAL_EMBEDDING_MODEL
choose others, for which only what holds for every model is checked. Exits with 0 if everything holds.`;

async function withModel(library, path, options, body) {
  step(`loading ${basename(path)}`);
  const start = performance.now();
  const model = await library.LocalModel.load(path, options);
  const loadMs = performance.now() - start;
  try {
    return [`load ${loadMs.toFixed(0)} ms`, ...(await body(model))];
  } finally {
    await model.close();
  }
}

async function check(library) {
  const { large, embedding } = await modelsToUse();
  const chat = await withModel(library, large.path, { context: { contextSize: 2048 } }, async (model) => [
    await checkAnswer(model, large.isDefault),
    await checkCancel(model, "prefill"),
    await checkCancel(model, "decode"),
  ]);
  const vectors = await withModel(library, embedding.path, {}, async (model) => [
    await checkEmbeddings(model, embedding.isDefault),
  ]);
  return [...chat, ...vectors];
}

await verify(usage, check);
