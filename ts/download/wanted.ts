import { catalog } from "../catalog/load.js";
import type { CatalogEntry } from "../catalog/schema.js";
import { COMPANION_ROLES, type CompanionRole } from "../catalog/types.js";
import { invalidInput } from "../errors.js";
import type { WantedModel } from "./plan.js";
import { hubReference } from "./reference.js";
import { wantedModel } from "./wanted-model.js";

/**
 * What a text asks to be fetched: `hf:…` and addresses of the hub stay as they are, `id` and `id:variant` name a model of
 * the catalog.
 *
 * @throws LocalInferenceError `INVALID_INPUT` for an unknown name or variant.
 */
export function wantedByText(text: string, companions?: readonly CompanionRole[]): string | WantedModel {
  if (hubReference(text) !== undefined) return text;
  const [id = "", variant] = text.split(":");
  return wantedModel(requireEntry(id), variant, companions);
}

/** @throws LocalInferenceError `INVALID_INPUT` that says where names are listed. */
function requireEntry(id: string): CatalogEntry {
  const entry = catalog().find(id);
  if (entry !== undefined) return entry;
  throw invalidInput(`${JSON.stringify(id)} is not in the catalog.`, {
    hint: 'See "eliza-local models", or write hf:owner/repository/file.gguf.',
  });
}

/** `drafter,vision`, `all` or `none`. @throws LocalInferenceError `INVALID_INPUT` that lists the roles. */
export function companionRoles(text: string): CompanionRole[] {
  if (text === "all") return [...COMPANION_ROLES];
  if (text === "none" || text === "") return [];
  return text.split(",").map((word) => {
    const role = COMPANION_ROLES.find((one) => one === word.trim());
    if (role !== undefined) return role;
    throw invalidInput(`${JSON.stringify(word)} is no companion.`, {
      hint: `Companions are ${COMPANION_ROLES.join(", ")}; all and none are understood, too.`,
    });
  });
}
