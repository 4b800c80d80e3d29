// The models of the demo, the self-check and the benchmark: those of the settings, else the development models.
import { existsSync } from "node:fs";
import { builtParts } from "./built.mjs";
import { Failure } from "./log.mjs";
import { locationOf } from "./models/ensure.mjs";
import { readTable, selectModels } from "./models/table.mjs";
import { fromRoot, modelsDir } from "./paths.mjs";

const ids = { large: "smollm2-135m", embedding: "all-minilm-l6-v2", other: "tinycoder" };

/** Where a development model is kept, whether it is there or not. */
export function developmentModel(role) {
  const [model] = selectModels(readTable(), { ids: [ids[role]] });
  return locationOf(model);
}

/** Ends the script with advice if dist/ or the addon has not been built. */
export function requireBuild() {
  const built = existsSync(fromRoot("dist/index.js")) && existsSync(fromRoot("index.js"));
  if (!built) throw new Failure("the package is not built: run `npm run build` (or `npm run setup`)");
}

export function requireFiles(paths) {
  const missing = paths.filter((path) => !existsSync(path));
  if (missing.length === 0) return;
  throw new Failure(
    `missing: ${missing.join(", ")}\n  run \`npm run models\` (they are kept in ${modelsDir()})`,
  );
}

/**
 * `{ large, embedding }`, each `{ path, isDefault }`. LOCAL_LARGE_MODEL and LOCAL_EMBEDDING_MODEL are read as the plugin
 * reads them.
 */
export async function modelsToUse() {
  const { readConfig, resolveModel } = await builtParts("settings/config", "catalog/models-dir");
  const config = readConfig({ getSetting: () => undefined });
  const written = config.models;
  const defaults = ["large", "embedding"].filter((role) => written[role] === undefined);
  requireFiles(defaults.map(developmentModel));
  const chosen = async (role) => {
    if (written[role] === undefined) return { path: developmentModel(role), isDefault: true };
    const path = await resolveModel(written[role], config.modelsDir);
    return { path, isDefault: path === developmentModel(role) };
  };
  return { large: await chosen("large"), embedding: await chosen("embedding") };
}
