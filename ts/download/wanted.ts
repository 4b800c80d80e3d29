import { defaultVariant } from "../catalog/facts.js";
import { catalog } from "../catalog/load.js";
import type { CatalogEntry } from "../catalog/schema.js";
import { invalidInput } from "../errors.js";
import { COMPANION_ROLES, type CompanionRole, companionRole } from "../roles.js";
import { present } from "../support/present.js";
import type { WantedModel } from "./plan.js";
import { hubReference } from "./reference.js";

/**
 * The model that a text names for download: `hf:…` and addresses of the hub stay as they are, `id` and `id:variant` name a
 * model of the catalog.
 *
 * @throws LocalInferenceError `INVALID_INPUT` for an unknown name or variant.
 */
export function wantedByText(text: string, companions?: readonly CompanionRole[]): string | WantedModel {
  if (hubReference(text) !== undefined) return text;
  const [id = "", variant] = text.split(":");
  return wantedModel(requireEntry(id), variant, companions);
}

/** @throws LocalInferenceError `INVALID_INPUT` with the command that lists names. */
function requireEntry(id: string): CatalogEntry {
  const entry = catalog().find(id);
  if (entry !== undefined) return entry;
  throw invalidInput(`${JSON.stringify(id)} is not in the catalog.`, {
    hint: 'Type "eliza-local models" to list the catalog, or name a file as hf:owner/repository/file.gguf.',
  });
}

/** `drafter,vision`, `all` or `none`. @throws LocalInferenceError `INVALID_INPUT` that lists the roles. */
export function companionRoles(text: string): CompanionRole[] {
  if (text === "all") return [...COMPANION_ROLES];
  if (text === "none" || text === "") return [];
  return text.split(",").map((word) => {
    const role = companionRole(word.trim());
    if (role !== undefined) return role;
    throw invalidInput(`${JSON.stringify(word)} is not a companion.`, {
      hint: `Pass --with all, none, or some of ${COMPANION_ROLES.join(",")}.`,
    });
  });
}

/** Companions that are fetched by default: those that text generation uses. */
const STANDARD_COMPANIONS: readonly CompanionRole[] = ["drafter"];

/**
 * What to fetch for a model of the catalog.
 *
 * @throws LocalInferenceError `INVALID_INPUT` for a variant that does not exist or is not hosted.
 */
export function wantedModel(
  entry: CatalogEntry,
  variantId?: string,
  companions: readonly CompanionRole[] = STANDARD_COMPANIONS,
): WantedModel {
  const variant =
    variantId === undefined ? defaultVariant(entry) : entry.variants.find(({ id }) => id === variantId);
  if (variant === undefined || variant.file === null) {
    const hosted = entry.variants.filter(({ file }) => file !== null).map(({ id }) => id);
    throw invalidInput(
      `${entry.id} has no variant ${variantId ?? entry.defaultVariant} on the hub; choose one of ${hosted.join(", ")}.`,
    );
  }
  const { repository, revision, folder, formerFolder } = entry.hub;
  const place = ({ file, formerFile }: { file: string; formerFile?: string | undefined }) => {
    const path = below(folder, file);
    // A repository may still have the folders and names that its files had before.
    const former = below(formerFolder ?? folder, formerFile ?? file);
    return present({ repository, path, formerPaths: former === path ? undefined : [former], revision });
  };
  const digest = (sha256: string | null) => (sha256 === null ? {} : { sha256 });
  const roles = COMPANION_ROLES.filter((role) => companions.includes(role));
  const files = roles.flatMap((role) => {
    const companion = entry.companions[role];
    return companion === undefined
      ? []
      : [{ ...place(companion), ...digest(companion.sha256), role, optional: true }];
  });
  return {
    id: entry.id,
    name: entry.displayName,
    catalogId: entry.id,
    files: [
      { ...place({ ...variant, file: variant.file }), ...digest(variant.sha256), role: "model" },
      ...files,
    ],
  };
}

function below(folder: string | undefined, file: string): string {
  return folder === undefined ? file : `${folder}/${file}`;
}
