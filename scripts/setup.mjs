// Everything a fresh clone needs: system packages, npm packages, models, the addon, dist/. Does only what is missing.
import { parseArgs } from "node:util";
import { isBuilt } from "./lib/freshness.mjs";
import { done, main } from "./lib/log.mjs";
import { ensureModels, isPresent } from "./lib/models/ensure.mjs";
import { readTable, selectModels } from "./lib/models/table.mjs";
import { ensureNpmPackages } from "./lib/npm-packages.mjs";
import { fromRoot } from "./lib/paths.mjs";
import { run } from "./lib/run.mjs";
import { ensureToolchain } from "./lib/toolchain.mjs";

const usage = `usage: node scripts/setup.mjs [--no-models] [--no-build]

Installs system and npm packages, fetches the development models and builds the addon and dist/, each only if it
is missing or out of date.`;

const options = {
  "no-models": { type: "boolean" },
  "no-build": { type: "boolean" },
  help: { type: "boolean", short: "h" },
};

async function missingModels() {
  const models = selectModels(readTable());
  const present = await Promise.all(models.map((model) => isPresent(model)));
  return models.filter((_, index) => !present[index]);
}

function build() {
  for (const name of ["native", "ts"]) {
    if (!isBuilt(name)) run(process.execPath, [fromRoot(`scripts/build-${name}.mjs`)], { stdout: "stderr" });
  }
}

await main(async () => {
  const { values } = parseArgs({ options });
  if (values.help) return console.log(usage);
  const models = values["no-models"] ? [] : await missingModels();
  ensureToolchain({ models: models.length > 0 });
  ensureNpmPackages();
  await ensureModels(models);
  if (!values["no-build"]) build();
  done("setup is complete");
});
