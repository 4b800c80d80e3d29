// Does this machine's build give right answers and stop when told to? Prints its figures on the last line.
import { basename } from "node:path";
import { checkAnswer, checkCancel, checkEmbeddings } from "./lib/demo-checks.mjs";
import { modelsToUse, requireBuild } from "./lib/demo-models.mjs";
import { done, Failure, main, step } from "./lib/log.mjs";
import { fromRoot } from "./lib/paths.mjs";

const usage = `usage: npm run -s verify:answers

Checks the built package with the development models (npm run models). LOCAL_LARGE_MODEL and LOCAL_EMBEDDING_MODEL
choose others, for which only what holds for every model is checked. Exits with 0 if everything holds.`;

/** A hang must not look like a slow machine. */
const timeLimitMs = 240_000;

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

async function verify(library) {
  const { large, embedding } = await modelsToUse(library);
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

await main(async () => {
  if (process.argv.includes("--help")) return console.log(usage);
  requireBuild();
  const start = performance.now();
  const watchdog = setTimeout(() => {
    process.stderr.write(`✗ no result after ${timeLimitMs / 1000} s\n`);
    process.exit(1);
  }, timeLimitMs);
  try {
    const library = await import(fromRoot("dist/index.js"));
    const figures = await verify(library);
    done("everything holds");
    console.log(`${figures.join("; ")}; ${((performance.now() - start) / 1000).toFixed(1)} s in all`);
  } catch (error) {
    if (error instanceof Failure || error?.name !== "LocalInferenceError") throw error;
    throw new Failure(`${error.code}: ${error.message}`);
  } finally {
    clearTimeout(watchdog);
  }
});
