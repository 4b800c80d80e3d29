// scripts/dev-models.json: which models there are, what their files must hash to, which packages carry them.
import { readFileSync } from "node:fs";
import { Failure } from "../log.mjs";
import { fromRoot } from "../paths.mjs";

export const readTable = () => JSON.parse(readFileSync(fromRoot("scripts/dev-models.json"), "utf8")).models;

/**
 * Models of `ids`, in that order; without ids the ones that tests and the demo need.
 * @param {any[]} table
 * @param {{ ids?: string[], all?: boolean }} [wanted]
 */
export function selectModels(table, { ids, all = false } = {}) {
  if (all) return table.filter((model) => model.source.kind !== "manual");
  if (!ids) return table.filter((model) => model.default);
  return ids.map((id) => {
    const model = table.find((entry) => entry.id === id);
    if (model) return model;
    throw new Failure(`no model is called "${id}" (known: ${table.map((entry) => entry.id).join(", ")})`);
  });
}

export const totalBytes = (model) => model.files.reduce((sum, file) => sum + file.bytes, 0);
